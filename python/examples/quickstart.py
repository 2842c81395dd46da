"""The first five minutes: measure, look, keep."""

from __future__ import annotations

import rankfall as rf


def main() -> None:
    result = rf.measure("bert-tiny@init", variants=["full", "san"], samples=4, tokens=32)
    print(result.answers[0])
    curves = result["relative_residual.composite"]
    print("attention alone, by layer:", curves["san"].round(6).tolist())
    model = rf.load("bert-tiny@init")
    print(model.network)
    out = model.without("attn_skip").forward(ids=[[5, 6, 7, 8]], states=[-1], precision="f64")
    print("relative residual:", float(rf.relative_residual(out.states[2])[0]))  # type: ignore[index]


if __name__ == "__main__":
    main()
