"""Tables of theory.md."""

import re

from .common import table


def audit(program):
    rows = program.rows("audit --trials 100000")
    out = []
    for row in rows:
        if row["metric"] != "audit.statement":
            continue
        claim = row["claim"]
        words = {r["metric"]: r["verdict"] for r in rows if r["claim"] == claim}
        verdict = words["audit.verdict"]
        fails = any(r["status"] == "violated" for r in rows if r["claim"] == claim)
        out.append(
            [
                claim.split()[0].lstrip("0"),
                row["verdict"].replace("|", "\\|"),
                f"**{verdict}**" if fails else verdict,
                minus_signs(words["audit.evidence"]).replace("|", "\\|"),
            ]
        )
    return table(["", "claim", "verdict", "evidence"], out)


def minus_signs(text):
    """Minus signs of numbers, but not those of exponents of ten."""
    return re.sub(r"(?<![\w^])-(?=\d)", "−", text)


def gradient_norms(program):
    """Of prediction.md: the predicted and the measured gradients of a small network."""
    rows = program.rows(
        "theory bert-mini@init --metrics gradient --compare --seeds 5 --tokens 32 --variant full --variant san"
    )

    def value(variant, layer, metric):
        found = [r for r in rows if (r["variant"], r["layer"], r["metric"]) == (variant, layer, metric)]
        if not found or found[0]["mean"] is None:
            return "rounding"
        mean = found[0]["mean"]
        return f"{mean:,.0f}" if mean >= 100 else f"{mean:.2e}" if mean < 1e-4 else f"{mean:#.3g}"

    head = ["layer"]
    columns = []
    for variant in ("full", "san"):
        for projection in ("W_Q", "W_V"):
            head += [f"{variant}, {projection}: predicted", "measured"]
            columns += [(variant, f"gradient.{projection}"), (variant, f"measured.gradient.{projection}")]
    return table(head, [[str(n), *(value(v, n, m) for v, m in columns)] for n in range(1, 5)])
