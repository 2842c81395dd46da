"""Tables of results.md."""

from pathlib import Path

from .common import CAPP, INPUTS, KWT, LLAMA, RXN, VARIANTS, one, table

FAMILIES = Path(__file__).resolve().parents[2] / "tests/data/families"

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
    families = sorted(folder.name for folder in FAMILIES.iterdir() if (folder / "expected.safetensors").exists())
    rows = program.rows("parity " + " ".join(f"tests/data/families/{family}" for family in families))
    out = []
    for family in families:
        cells = [family]
        for precision in ("f64", "f32"):
            for metric in ("parity.hidden.max", "parity.hidden.median", "parity.attention.max"):
                found = one(rows, model=f"tests/data/families/{family}", variant="all", metric=metric, kind=precision)
                cells.append(f"{found['mean']:.1e}")
        out.append(cells)
    head = ["reference", "f64: states max", "median", "attention max", "f32: states max", "median", "attention max"]
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


# Newer families at initialisation.

COLLAPSE_24 = " --depth 24 --samples 2 --tokens 64 --variant san --variant full"
COLLAPSE_24_SMALL = " --depth 24 --samples 1 --tokens 32 --variant san --variant full"
RELEASED = {
    "bert-base": "no mask",
    "gpt2": "",
    "opt-125m": "",
    "pythia-160m": "parallel",
    "qwen2.5-0.5b": "",
    "qwen3-0.6b": "q/k norms",
    "gemma-3-270m": "norms on both sides, q/k norms",
    "bloom-560m": "ALiBi",
    "modernbert-base": "no mask, rotary, windows",
    "olmo2-1b": "norms behind only, q/k norms; 1 sample of 32",
    "gemma-2-2b": "norms on both sides, soft cap; 1 sample of 32",
}


def _log10(rows, variant, layer):
    value = one(rows, variant=variant, layer=layer, metric="log10_relative_residual.composite", kind="exact")["mean"]
    if abs(value) < 0.01:
        return f"{value:.3f}"
    if abs(value) < 1000:
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 8 else f"{value:.2f}"
    return f"{value:.1e}".replace("e+0", "e").replace("e+", "e")


def _law(rows, variant):
    row = one(rows, variant=variant, metric="decay", kind="relative_residual")
    if row["status"] == "doubly_exponential":
        return f"doubly exponential, exponent {row['mean']:.2f}"
    if row["status"] == "exponential":
        return f"exponential, {row['mean']:.3f} per layer"
    return row["status"].replace("_", " ")


def modern_init(program):
    out = []
    for preset, note in RELEASED.items():
        small = "1 sample" in note
        rows = program.rows(f"collapse {preset}@init" + (COLLAPSE_24_SMALL if small else COLLAPSE_24))
        cells = [_log10(rows, "san", layer) for layer in (6, 12, 24)]
        out.append([f"{preset} ({note})" if note else preset, *cells, _law(rows, "san"), _log10(rows, "full", 24)])
    return table(["preset", "san, layer 6", "12", "24", "law of san", "full, layer 24"], out)


# One part changed at a time. Weights depend on their names alone, so the relatives of Llama share theirs.
_SIZES = {"hidden_size": 512, "num_hidden_layers": 24, "num_attention_heads": 8, "intermediate_size": 2048, "vocab_size": 32000}
_LLAMA = {**_SIZES, "model_type": "llama"}
_NEOX = {**_SIZES, "model_type": "gpt_neox"}
PAIRS = {
    "llama": ("Llama", _LLAMA),
    "qwen3": ("... with q/k norms (Qwen 3)", {**_LLAMA, "model_type": "qwen3", "head_dim": 64}),
    "gemma2": (
        "... with sandwich norms (Gemma 2)",
        {
            **_LLAMA,
            "model_type": "gemma2",
            "head_dim": 64,
            "query_pre_attn_scalar": 64,
            "hidden_activation": "silu",
            "attn_logit_softcapping": None,
            "layer_types": ["full_attention"] * 24,
        },
    ),
    "olmo2": ("... with norms behind branches only, and q/k norms (OLMo 2)", {**_LLAMA, "model_type": "olmo2"}),
    "mistral": ("... with a window of 8 tokens (Mistral)", {**_LLAMA, "model_type": "mistral", "sliding_window": 8}),
    "neox_sequential": ("GPT-NeoX, one after the other", {**_NEOX, "use_parallel_residual": False}),
    "neox_parallel": ("... parallel", {**_NEOX, "use_parallel_residual": True}),
    "bloom": (
        "BLOOM: ALiBi instead of rotary positions",
        {"model_type": "bloom", "hidden_size": 512, "n_layer": 24, "n_head": 8, "vocab_size": 32000},
    ),
}
PAIR_OPTIONS = " --samples 4 --tokens 64 --variant san --variant san+mlp --variant san+skip --variant full"


def pair_rows(program, name):
    folder = program.with_config(name, PAIRS[name][1])
    return program.rows(f"collapse {folder}@init" + PAIR_OPTIONS)


def modern_pairs(program):
    out = []
    for name, (title, _) in PAIRS.items():
        rows = pair_rows(program, name)
        cells = [_law(rows, "san"), *(_log10(rows, variant, 24) for variant in ("san", "san+mlp", "san+skip", "full"))]
        out.append([title, *cells])
    return table(["network", "law of san", "san, layer 24", "san+mlp", "san+skip", "full"], out)


TRAINED = {KWT: "KWT-1 (BERT)", RXN: "ALBERT (rxnmapper)", LLAMA: "Llama (babyllama)", CAPP: "GPT-2 (capp)"}
LAWS = " --variant full --variant san --variant san+mlp --attention full --attention window:w=8"


def trained_rows(program, name):
    path = f"{{models}}/{name}"
    return program.rows(f"collapse {path}{INPUTS[path]}{LAWS}")


def trained_laws(program):
    out = []
    for path, title in TRAINED.items():
        rows = trained_rows(program, path.rpartition("/")[2])
        last = max(row["layer"] or 0 for row in rows)
        cells = [f"{title}, {last}"]
        for variant in ("full", "san", "san window:w=8", "san+mlp", "san+mlp window:w=8"):
            log10 = one(rows, variant=variant, layer=last, metric="log10_relative_residual.composite", kind="exact")["mean"]
            end = f"{10**log10:.2g}" if log10 > -3 else f"10^{log10:.0f}"
            law = one(rows, variant=variant, metric="decay", kind="relative_residual")["status"].replace("_", " ")
            cells.append(f"{end}, {law}")
        out.append(cells)
    return table(["model, layers", "full", "san", "san, window", "san+mlp", "san+mlp, window"], out)


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
