"""Tables of paths.md."""

from .common import INPUTS, KWT, LLAMA, RXN, minus, one, table

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
