"""Tables of attention.md."""

import statistics

from .common import INPUTS, KWT, LLAMA, RXN, minus, one, table

BERT = "bert-base@init"
NAMES = {BERT: "BERT-base, random", RXN: "ALBERT, trained", KWT: "speech BERT, trained", LLAMA: "Llama, trained"}
KINDS = ("gaussian", "linformer", "linformer pooled", "nystrom", "performer", "window", "bigbird")


def _inputs(model):
    return INPUTS.get(model, " --random-tokens zipf --samples 8")


def _command(model, parts):
    return f"lowrank {model}{_inputs(model)} --only {parts}"


def _mean(rows, metric, **wanted):
    values = [row["mean"] for row in rows if row["metric"] == metric and all(row[k] == v for k, v in wanted.items())]
    return sum(values) / len(values)


def attention_spectra(program):
    out = []
    for model, name in NAMES.items():
        rows = program.rows(_command(model, "spectra"))
        gap = [row["mean"] for row in rows if row["metric"] == "attention.gap"]
        out.append(
            [
                name,
                f"{_mean(rows, 'attention.sigma2'):.2g}",
                f"{min(gap):.2f} to {max(gap):.2f}",
                f"{_mean(rows, 'attention.rank.numerical', kind='eps=0.1'):.1f}",
                f"{_mean(rows, 'attention.rank.numerical', kind='eps=0.01'):.1f}",
                f"{_mean(rows, 'attention.energy', k=1):.2f}",
                f"{_mean(rows, 'attention.energy', k=4):.2f}",
                f"{_mean(rows, 'attention.energy', k=16):.2f}",
                f"{_mean(rows, 'attention.entropy'):.2f}",
            ]
        )
    head = ["", "σ₂", "gap 1 − σ₂/σ₁ by head", "σ above 0.1 σ₁", "above 0.01 σ₁", "energy in 1", "in 4", "in 16", "entropy"]
    return table(head, out)


def attention_scaling(program):
    rows = program.rows(_command(BERT, "scaling"))
    out = []
    for n in (64, 128, 256, 512, 1024, 2048, 4096):
        cells = [str(n)]
        for kind in ("model", "independent"):
            found = one(rows, metric="scaling.sigma2", tokens=n, kind=kind, layer=0)
            cells.append(f"{found['mean']:.4f}")
        out.append(cells)
    cells = ["exponent"]
    for kind in ("model", "independent"):
        found = one(rows, metric="scaling.exponent", kind=kind, layer=0)
        cells.append(minus(f"{found['mean']:.3f} ± {found['std']:.3f}"))
    out.append(cells)
    return table(["n", "σ₂ of block 0, mean of 12 heads", "σ₂, independent logits"], out)


SEEDS = range(5)


def _rows_needed(found):
    """The k that suffice for each seed, as a range."""
    counts = sorted(row["mean"] for row in found if not row["status"])
    if not counts:
        return "k ≥ n"
    last = "≥ n" if len(counts) < len(found) else f"{counts[-1]:.0f}"
    return last if counts[0] == counts[-1] and len(counts) == len(found) else f"{counts[0]:.0f} to {last}"


def attention_sketches(program):
    by_seed = [program.rows(f"{_command(BERT, 'sketches')} --seed {seed}") for seed in SEEDS]
    out = []
    for n in (64, 128, 256, 512, 1024, 2048, 4096):
        claimed = one(by_seed[0], metric="jl.k_claimed", tokens=n, layer=0)
        cells = [str(n), f"{claimed['mean']:.0f}" + (", k ≥ n" if claimed["status"] else "")]
        for claim, kind in (
            ("relative", "values"),
            ("relative", "gaussian"),
            ("relative", "mean_free"),
            ("norms", "values"),
            ("norms", "gaussian"),
        ):
            about = {"tokens": n, "claim": claim, "kind": kind, "layer": 0}
            rates = [one(rows, metric="jl.failure", k=int(claimed["mean"]), **about)["mean"] for rows in by_seed]
            needed = _rows_needed([one(rows, metric="jl.k_needed", **about) for rows in by_seed])
            spread = f" ± {statistics.stdev(rates):.2f}" if statistics.stdev(rates) >= 0.005 else ""
            cells.append(f"{statistics.mean(rates):.2f}{spread}; {needed}")
        out.append(cells)
    head = ["n", "k claimed", "relative, w = X W_V a", "relative, Gaussian w", "relative, mean-free w", "norms, X W_V", "norms, Gaussian"]
    return table(head, out)


def sketch_values(program, metric, n, **about):
    """What each seed has for directions of X W_V and the printed form, at n tokens."""
    by_seed = [program.rows(f"{_command(BERT, 'sketches')} --seed {seed}") for seed in SEEDS]
    wanted = {"tokens": n, "claim": "relative", "kind": "values", "layer": 0, **about}
    return [one(rows, metric=metric, **wanted)["mean"] for rows in by_seed]


def _kind(variant):
    """`nystrom:m=32` -> nystrom; both Linformers keep apart."""
    variant = variant.removeprefix("san ")
    return variant.split(":")[0] + (" pooled" if "pooled=1" in variant else "")


def attention_kinds(program):
    out = []
    for model, name in NAMES.items():
        rows = [r for r in program.rows(_command(model, "kinds")) if r["metric"] == "state.distance"]
        last = max(row["layer"] or 0 for row in rows)
        found = {_kind(row["variant"]): row for row in rows if row["layer"] in (None, last)}
        out.append([name] + [f"{found[k]['mean']:.2g}" if found[k]["mean"] is not None else "–" for k in KINDS])
    return table(["", *KINDS], out)


def attention_products(program):
    out = []
    for model, name in NAMES.items():
        rows = program.rows(_command(model, "kinds"))
        found = {_kind(row["variant"]): row["mean"] for row in rows if row["metric"] == "state.products"}
        out.append([name] + [f"{found[k]:.3g}" if k in found else "–" for k in KINDS])
    return table(["", *KINDS], out)


SAN = (
    f"measure {BERT} --random-tokens zipf --samples 4 --precision f64 --variant san --attention full --attention gaussian "
    "--attention linformer:k=32 --attention linformer:k=32,pooled=1 --attention nystrom:m=32 --attention performer:m=32 "
    "--attention window:w=17 --attention bigbird:w=4,global=4,random=1,block=16"
)


def attention_collapse(program):
    rows = program.rows(SAN)
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    out = []
    for layer in range(6):
        cells = [str(layer)]
        for variant in variants:
            found = one(rows, metric="relative_residual.composite", variant=variant, layer=layer)
            cells.append("rounding" if found["status"] == "rounding_floor" else f"{found['mean']:.1e}")
        out.append(cells)
    return table(["layer", *(_kind(v) if v != "san" else "full" for v in variants)], out)


EXACT = (
    f"collapse {BERT} --random-tokens zipf --samples 2 --no-floats --variant san --attention full --attention gaussian "
    "--attention window:w=17 --attention bigbird:w=4,global=4,random=1,block=16"
)


def attention_exact(program):
    rows = program.rows(EXACT)
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    out = []
    for layer in (0, 1, 2, 3, 4, 6, 8, 12):
        cells = [str(layer)]
        for variant in variants:
            found = one(rows, metric="log10_relative_residual.composite", variant=variant, layer=layer, kind="exact")
            cells.append(minus(f"{found['mean']:.4g}" if abs(found["mean"]) < 1000 else f"{found['mean']:.0f}"))
        out.append(cells)
    return table(["layer", *(_kind(v) if v != "san" else "full" for v in variants)], out)


def exact_factor(program, kind):
    """By how much the exact residual falls per layer, from the first on."""
    rows = [row for row in program.rows(EXACT) if _kind(row["variant"]) == kind]
    first, last = (
        one(rows, metric="log10_relative_residual.composite", layer=layer, kind="exact")["mean"] for layer in (1, 12)
    )
    return 10 ** ((last - first) / 11)


def attention_costs(program):
    rows = program.rows("bench --layers")
    kinds = list(dict.fromkeys(row["variant"] for row in rows if row["variant"] != "projections"))

    def value(kind, metric, n):
        return one(rows, variant=kind, metric=metric, tokens=n)["mean"]

    out = []
    for kind in kinds:
        times = [value(kind, "layer.seconds", n) / value("projections", "layer.seconds", n) for n in (512, 4096, 16384)]
        mixing = [r for r in rows if r["variant"] == kind and r["metric"] == "mixing.exponent" and r["kind"] == "seconds"]
        fit = mixing[0] if mixing else one(rows, variant=kind, metric="layer.exponent", kind="seconds")
        steps = value(kind, "layer.sequential", 16384)
        out.append(
            [f"`{kind}`"]
            + [f"{time:.1f}" for time in times]
            + [f"{fit['mean']:.2f} ± {fit['std']:.2f}", fit["verdict"].split(",")[0], f"{steps:.0f}"]
            + [f"{value(kind, 'layer.memory_mb', 16384):.0f}"]
        )
    head = ["layer", "time at n = 512", "4,096", "16,384", "exponent of n", "in theory", "sequential steps", "MB at 16,384"]
    return table(head, out)
