"""Tables of training.md."""

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
