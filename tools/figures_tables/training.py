"""Tables of training.md."""

import json

from .common import one, table


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


# Two kernels of OpenBLAS that round differently: what only one of them gives is no finding.
KERNELS = ("Haswell", "SkylakeX")
CIRCLES = ("attention", "attention+mlp", "attention+skip", "attention+skip+mlp")


def circle_rows(program, kernel, seed):
    directory = program.train(f"circle --seed {seed}", {"OPENBLAS_CORETYPE": kernel})
    return json.loads((directory / "circle.json").read_text())["rows"]


def circle_networks(program):
    """One dictionary for each network: what it is, and the values that have no step."""
    networks = []
    for kernel in KERNELS:
        for seed in range(5):
            found = {}
            for row in circle_rows(program, kernel, seed):
                if row["step"] is None:
                    found.setdefault((row["variant"], row["model"]), {})[row["metric"]] = row["mean"]
            for (variant, width), values in found.items():
                networks.append({"kernel": kernel, "seed": seed, "variant": variant, "width": width, **values})
    return networks


def has_learned(network):
    return network["loss.relative"] is not None and network["loss.relative"] < 0.1


def tracks_meet(network):
    return network["distance.left"] is not None and network["distance.left"] < 0.01


def circle(program):
    out = []
    for variant in CIRCLES:
        networks = [network for network in circle_networks(program) if network["variant"] == variant]
        learned = [network for network in networks if has_learned(network)]
        meet = [network for network in learned if tracks_meet(network) and network.get("fall.steps")]
        cells = [variant, f"{len(learned)} of {len(networks)}", str(len(meet))]
        for metric in ("fall.steps", "fall.begins"):
            values = sorted(network[metric] for network in meet)
            cells.append(f"{values[0]:.0f} to {values[-1]:.0f}" if values else "–")
        out.append(cells)
    return table(["", "learned", "of these, the tracks meet", "steps of the fall", "it begins at step"], out)


DEEP = "train sort --quick --layers 12 --dropout 0 --epochs 1 --monitor"


def gradients(program):
    """Rounding is not a number: gradients below 1e-9 are what it leaves."""
    blocks = (0, 1, 2, 3, 11)

    def values(arguments, metric):
        directory = program.train(arguments)
        rows = json.loads((directory / "history.json").read_text())["rows"]
        means = {row["layer"]: row["mean"] for row in rows if row["metric"] == metric and row["step"] == 1}
        return [means[block] for block in blocks]

    def cells(title, found, least, small):
        return [title, *(f"{value:.2g}" if value >= least else small for value in found)]

    plain = f"{DEEP} --no-attn-skip"
    out = [
        cells("no skip: relative residual of the state that enters", values(plain, "relative_residual.composite"), 1e-6, "rounding"),
        cells("no skip: gradient of W_Q", values(plain, "gradient.q"), 1e-9, "below 1e-9"),
        cells("no skip: gradient of W_V", values(plain, "gradient.v"), 1e-9, "below 1e-9"),
        cells("with skips: gradient of W_Q", values(DEEP, "gradient.q"), 1e-9, "below 1e-9"),
        cells("with skips: gradient of W_V", values(DEEP, "gradient.v"), 1e-9, "below 1e-9"),
    ]
    return table(["block", *map(str, blocks)], out)
