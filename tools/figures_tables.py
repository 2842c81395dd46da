"""The tables of docs, each from results. A function has the name of its table, with _ for -, and returns Markdown."""

FIG2 = "measure bert-base@init albert-base@init xlnet-base@init --seeds 10 --random-tokens zipf --compare-published"
VARIANTS = ("full", "san", "san+mlp", "san+skip")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(line.replace("|  |", "| |") for line in lines) + "\n"


def one(rows, **wanted):
    """The one row that has these values; fields that are not named must be absent where they tell rows apart."""
    for key in ("layer", "head", "seed", "sample", "length"):
        wanted.setdefault(key, None)
    found = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    if len(found) != 1:
        raise RuntimeError(f"{len(found)} rows with {wanted}, expected one")
    return found[0]


def minus(text):
    return text.replace("-", "−")


# --- results.md ----------------------------------------------------------------------------------------------------------


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


# --- collapse.md ---------------------------------------------------------------------------------------------------------

COLLAPSE_VARIANTS = {
    "full": "full",
    "san": "san",
    "san+mlp": "san+mlp",
    "san+skip": "san+skip",
    "-attn_skip,-mlp,-norm": "san, no norm",
    "-attn_skip,-mlp_skip,-norm": "san+mlp, no norm",
    "-attn_skip": "no attention skip",
    "-norm": "full, no norm",
}
COLLAPSE = (
    " --variant full --variant san --variant san+mlp --variant san+skip --without attn_skip,mlp,norm"
    " --without attn_skip,mlp_skip,norm --without attn_skip --without norm"
)


def _log10(row):
    if row["mean"] is None or (row["verdict"] or "").startswith("not carried"):
        return "not carried"
    value = row["mean"]
    if abs(value) < 100:
        text = f"{value:.2f}"
    elif abs(value) < 10000:
        text = f"{value:.1f}"
    else:
        text = f"{value:.0f}"
    return minus(text)


def _collapse_rows(rows, model, states, prefix=""):
    out = []
    for variant, title in COLLAPSE_VARIANTS.items():
        mine = [row for row in rows if row["model"] == model and row["variant"] == variant]
        cells = [prefix + title]
        for state in states:
            cells.append(_log10(one(mine, layer=state, metric="log10_relative_residual.composite", kind="exact")))
        ends = []
        for precision in ("f32", "f64"):
            end = one(mine, metric="rounding_layer", kind=precision)["mean"]
            ends.append("—" if end is None else f"{end:.0f}")
        out.append([*cells, ", ".join(ends)])
    return out


STATES = (0, 1, 2, 3, 4, 6, 8, 10, 12)


def _collapse(program, model):
    rows = program.rows(f"collapse {model} --samples 8" + COLLAPSE)
    return table(["state", *map(str, STATES), "f32, f64 end"], _collapse_rows(rows, model, STATES))


def collapse_bert(program):
    return _collapse(program, "bert-base@init")


def collapse_albert(program):
    return _collapse(program, "albert-base@init")


def collapse_xlnet(program):
    return _collapse(program, "xlnet-base@init")


# --- paths.md ------------------------------------------------------------------------------------------------------------

BOX = "paths bert-base@init --sample 100 --as-published --random-tokens zipf"


def boxplot(program):
    rows = program.rows(BOX)

    def value(metric, length, kind):
        return one(rows, metric=metric, length=length, kind=kind)["mean"]

    def number(x):
        return f"{x:.3f}" if x >= 0.1 else f"{x:.1e}".replace("e-0", "e-")

    def median(metric, length):
        text = number(value(metric, length, "median"))
        if length > 4:
            return text
        return f"{text} ({number(value(metric, length, 'q1'))}–{number(value(metric, length, 'q3'))})"

    remainder = "path.attention_reversed.rank1_remainder"
    out = []
    for length in (1, 2, 3, 4, 5, 6, 8, 10, 12):
        out.append(
            [
                str(length),
                median("published.rank1_remainder.composite", length),
                median(f"{remainder}_f32.composite", length),
                number(value(f"{remainder}.composite", length, "median")),
            ]
        )
    return table(["length", "published", "rankfall, float32", "rankfall, exact"], out)


RXN, LLAMA, KWT = (f"{{models}}/{name}" for name in ("albert-rxnmapper", "llama-babyllama", "kwt1-speech-bert"))
INPUTS = {
    RXN: f" --ids {RXN}/input.safetensors",
    LLAMA: f" --ids {LLAMA}/input.safetensors",
    KWT: f" --hidden {KWT}/hidden.safetensors",
}
BOTH = " --variant full --variant san+skip"


def _share(value):
    if value is None:
        return "–"
    if abs(value) < 1e-12:
        return "0"
    if abs(value) >= 0.00095:
        return minus(f"{value:.3f}")
    return minus(f"{value:.0e}").replace("e−0", "e-")


def _path_shares(program, command, title, variant):
    rows = [row for row in program.rows(command) if row["variant"] == variant]
    last = max(row["layer"] for row in rows if row["metric"] == "paths.cancellation")

    def share(**wanted):
        found = [r for r in rows if r["metric"] == "paths.share.residual" and r["layer"] == last and r["sample"] is None]
        found = [row for row in found if all(row[key] == value for key, value in wanted.items())]
        return found[0]["mean"] if found else None

    lengths = sorted({row["length"] for row in rows if row["origin"] == "all" and row["length"] is not None})
    cells = [title, variant, *(_share(share(origin="all", length=length)) for length in range(5))]
    cells.append(_share(sum(share(origin="all", length=length) for length in lengths if length > 4)))
    for origin in ("embedding", "mlp", "bias"):
        text = _share(share(origin=origin, length=None))
        cells.append("1" if text == "1.000" and origin == "embedding" else text)
    cancellation = one(rows, metric="paths.cancellation", layer=last)["mean"]
    cells.append(f"{cancellation:.3g}" if cancellation >= 10 else f"{cancellation:.2f}")
    return cells


def _paths_table(program, models):
    out = []
    for command, title, variants in models:
        for i, variant in enumerate(variants):
            out.append(_path_shares(program, command, title if i == 0 else "", variant))
    head = "model,variant,0,1,2,3,4,5 and more,embedding,MLPs,biases,cancellation".split(",")
    return table(head, out)


def paths_random(program):
    names = {"bert-base": "BERT-base", "albert-base": "ALBERT-base", "xlnet-base": "XLNet-base", "gpt2": "GPT-2", "vit-base": "ViT-base"}
    both = ("bert-base", "gpt2")
    return _paths_table(
        program,
        [
            (f"paths {name}@init --samples 8" + BOTH, f"{title}, random", ("full", "san+skip") if name in both else ("full",))
            for name, title in names.items()
        ],
    )


def paths_trained(program):
    models = []
    for path, title, variants in (
        (RXN, "ALBERT (rxnmapper)", ("full", "san+skip")),
        (LLAMA, "Llama (babyllama)", ("full",)),
        (KWT, "speech BERT (KWT-1)", ("full",)),
    ):
        models.append((f"paths {path}{INPUTS[path]}{BOTH}", f"{title}, trained", variants))
        models.append((f"paths {path}@init{INPUTS[path]}{BOTH}", "its network, random", ("full",)))
    return _paths_table(program, models)


# --- results.md and collapse.md, trained ---------------------------------------------------------------------------------


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
                cells.append("~" if row["verdict"] else _three(row["mean"]))
            out.append(cells)
    return table(["model", "variant", "state 0", "1", "2", "3", "4", "5", "6", "12"], out)


def _three(value):
    if value >= 0.095:
        return f"{value:.3f}" if value < 0.9995 else f"{value:.2f}"
    if value >= 0.0095:
        return f"{value:.3g}"
    return f"{value:.2g}".replace("e-0", "e-")


def _collapse_trained(program, path, states, more=""):
    rows, model = {}, {}
    for label, spec in (("trained", path), ("random", path + "@init")):
        result = program.result(f"collapse {spec}{INPUTS[path]}{more}" + COLLAPSE)
        rows[label], model[label] = result["rows"], result["rows"][0]["model"]
    out = []
    for label in ("trained", "random"):
        out += _collapse_rows(rows[label], model[label], states, label + ": ")
    return table(["state", *map(str, states), "f32, f64 end"], out)


def collapse_rxnmapper(program):
    return _collapse_trained(program, RXN, STATES)


def collapse_speech(program):
    return _collapse_trained(program, KWT, STATES)


def collapse_llama(program):
    return _collapse_trained(program, LLAMA, (0, 5, 10, 20, 30, 40, 50, 60), " --depth 60")


# --- training.md ---------------------------------------------------------------------------------------------------------


def _accuracy(program, training, options, lines):
    rows = program.trained(training, options)

    def cell(kind, k, length):
        row = one(rows, metric="accuracy", kind=kind, k=k, length=length)
        text = f"{row['mean']:.3f}"
        return text if not row["std"] or row["std"] < 0.005 else f"{text} ± {row['std']:.3f}"

    return [[title, *(cell(kind, k, length) for length in range(7))] for title, kind, k in lines]


LINES = (
    ("re-run, 5 paths", "rerun", 5),
    ("re-run, 20", "rerun", 20),
    ("frozen, 5", "frozen", 5),
    ("frozen, 20", "frozen", 20),
    ("all", "exact", None),
    ("up to", "cumulative", None),
)


def tasks_sort(program):
    return table(["sort, 3 seeds", *map(str, range(7))], _accuracy(program, "sort --seeds 3", "", LINES))


def tasks_hull(program):
    lines = [LINES[i] for i in (0, 3, 4, 5)]
    return table(["hull, 3 seeds", *map(str, range(7))], _accuracy(program, "hull --seeds 3", "", lines))


def tasks_memorize(program):
    lines = [LINES[i] for i in (0, 3, 4, 5)]
    return table(["memorize, 1 seed, 100 sequences", *map(str, range(7))], _accuracy(program, "memorize", "--samples 100", lines))


# --- speed: of this machine, hence with wide tolerances ------------------------------------------------------------------


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


# --- theory.md -----------------------------------------------------------------------------------------------------------


def audit(program):
    rows = program.rows("audit --seconds 5")
    out = []
    for row in rows:
        if row["metric"] != "audit.statement":
            continue
        claim = row["claim"]
        words = {r["metric"]: r["verdict"] for r in rows if r["claim"] == claim}
        verdict = words["audit.verdict"]
        out.append(
            [
                claim.split()[0].lstrip("0"),
                row["verdict"].replace("|", "\\|"),
                f"**{verdict}**" if verdict.startswith("fails") else verdict,
                minus_signs(words["audit.evidence"]).replace("|", "\\|"),
            ]
        )
    return table(["", "claim", "verdict", "evidence"], out)


def minus_signs(text):
    """Minus signs of numbers, but not those of exponents of ten."""
    import re

    return re.sub(r"(?<![\w^])-(?=\d)", "−", text)
