"""Tables of results.md."""

from .common import INPUTS, KWT, LLAMA, RXN, VARIANTS, one, table

FIG2 = "measure bert-base@init albert-base@init xlnet-base@init --seeds 10 --random-tokens zipf --compare-published"

def _value(mean):
    if mean >= 0.05:
        return f"{mean:.3f}"
    digits = f"{mean:.2g}"
    return digits


def _with_deviation(row):
    return f"{row['mean']:.3f} ± {row['std']:.3f}" if row["mean"] >= 0.05 else _value(row["mean"])


def _fig2(program, model):
    rows = [row for row in program.rows(FIG2) if row["model"] == model]
    out = []
    for layer in range(13):
        cells = [str(layer)]
        for variant in VARIANTS:
            published = one(rows, variant=variant, layer=layer, metric="published.value")
            ours = one(rows, variant=variant, layer=layer, metric="relative_residual.composite", kind="seeds")
            cells += [_value(published["mean"]), _with_deviation(ours)]
        out.append(cells)
    head = ["layer"]
    for name in ("transformer", "SAN", "SAN+MLP", "SAN+skip"):
        head += [f"{name}: published", "ours"]
    return table(head, out)


def fig2_bert(program):
    return _fig2(program, "bert-base@init")


def fig2_albert(program):
    return _fig2(program, "albert-base@init")


def fig2_xlnet(program):
    return _fig2(program, "xlnet-base@init")


def parity(program):
    families = "albert bert distilbert electra gpt2 roberta t5 vit xlnet".split()
    rows = program.rows("parity " + " ".join(f"tests/data/families/{family}" for family in families))
    out = []
    for family in families:
        cells = [family]
        for precision in ("f64", "f32"):
            for metric in ("parity.hidden.max", "parity.hidden.median", "parity.attention.max"):
                found = one(rows, model=f"tests/data/families/{family}", variant="all", metric=metric, kind=precision)
                cells.append(f"{found['mean']:.1e}")
        out.append(cells)
    head = ["family", "f64: states max", "median", "attention max", "f32: states max", "median", "attention max"]
    return table(head, out)


def trained_residuals(program):
    out = []
    for path, title, states in ((KWT, "KWT-1", 12), (RXN, "ALBERT (rxnmapper)", 12), (LLAMA, "Llama (babyllama)", 5)):
        rows = program.rows(f"measure {path}{INPUTS[path]}")
        for variant in VARIANTS:
            cells = [title if variant == "full" else "", variant]
            for state in (0, 1, 2, 3, 4, 5, 6, 12):
                if state > states:
                    cells.append("")
                    continue
                row = one(rows, variant=variant, layer=state, metric="relative_residual.composite")
                cells.append("~" if row["status"] else _three(row["mean"]))
            out.append(cells)
    return table(["model", "variant", "state 0", "1", "2", "3", "4", "5", "6", "12"], out)


def _three(value):
    if value >= 0.095:
        return f"{value:.3f}" if value < 0.9995 else f"{value:.2f}"
    if value >= 0.0095:
        return f"{value:.3g}"
    return f"{value:.2g}".replace("e-0", "e-")


# Of this machine, hence with wide tolerances.


def speed(program):
    rows = program.rows("bench")
    out = []
    for kind, variants in (("32 samples", VARIANTS), ("1 sample", ("full",))):
        for variant in variants:
            values = [
                one([r for r in rows if r["kind"] == kind], variant=variant, metric=metric)["mean"]
                for metric in ("gflops", "peak_gflops", "share_of_peak")
            ]
            out.append([f"{variant}, {kind}", f"{values[0]:.0f}", f"{values[1]:.0f}", f"{values[2]:.2f}"])
    return table(["job", "GFLOP/s", "BLAS alone on the same products", "share of peak"], out)


def long_inputs(program):
    text = program.script("bench/long_inputs.sh")
    columns = {}
    for line in text.splitlines():
        if not line.startswith(" "):
            columns[line] = []
            continue
        words = line.replace(",", "").split()
        columns[list(columns)[-1]].append((int(words[2].rstrip(":")), words[7], words[12]))
    complete, causal = columns.values()
    out = []
    for (n, ratio, memory), (_, causal_ratio, causal_memory) in zip(complete, causal, strict=True):
        short = n == 512
        out.append([f"{n:,}", "1" if short else ratio, f"{memory} MB", "1" if short else causal_ratio, f"{causal_memory} MB"])
    head = ["tokens", "time per token, complete", "memory, complete", "time per token, causal", "memory, causal"]
    return table(head, out)
