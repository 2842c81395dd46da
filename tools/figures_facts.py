"""Numbers in sentences: the sentence with {} for each, and what they are now."""

import statistics
from dataclasses import dataclass
from typing import Callable

from figures_tables import (
    BOX,
    COLLAPSE,
    FIG2,
    circle_networks,
    circle_rows,
    exact_factor,
    has_learned,
    one,
    pair_rows,
    sketch_values,
    tracks_meet,
    trained_rows,
)


@dataclass
class Fact:
    name: str
    doc: str
    sentence: str
    values: Callable
    tolerance: float = 0  # relative; a number always agrees within 3/4 of a unit of its last digit


NO_NORM = "-attn_skip,-mlp,-norm"
NO_SKIP = "-attn_skip"


def _fig2(program, variant, layer, metric, **more):
    return one(program.rows(FIG2), model="xlnet-base@init", variant=variant, layer=layer, metric=metric, **more)


def _agreement(program):
    points = [row for row in program.rows(FIG2) if row["metric"] == "published.deviation"]
    share = [row["mean"] for row in program.rows(FIG2) if row["metric"] == "published.agreement"]
    return [round(share[0] * len(points)), len(points), 100 * share[0]]


def _first_state(program):
    ours = _fig2(program, "san+mlp", 0, "relative_residual.composite", kind="seeds")
    published = _fig2(program, "san+mlp", 0, "published.value")["mean"]
    return [published, ours["mean"], ours["std"], abs(published - ours["mean"]) / ours["std"]]


def _collapse(program, model, variant, layer, metric="log10_relative_residual.composite"):
    rows = program.rows(f"collapse {model}-base@init --samples 8" + COLLAPSE)
    return one(rows, variant=variant, layer=layer, metric=metric, kind="exact")["mean"]


def _digits(model, variant):
    return lambda program: [-_collapse(program, model, variant, 12)]


def _exponents(program):
    return [_collapse(program, model, "san", 12, "local_exponent") for model in ("bert", "albert")]


def _without_norms(program):
    bert, with_norm = (-_collapse(program, "bert", variant, 12) for variant in (NO_NORM, "san"))
    albert = _collapse(program, "albert", NO_NORM, 12) / _collapse(program, "albert", "san", 12)
    return [bert / with_norm, bert, with_norm, albert]


def _mlps(program):
    values = [-_collapse(program, m, v, 12) for m in ("bert", "albert") for v in ("san+mlp", "san")]
    return [*values, 100 * (1 - values[0] / values[1]), 100 * (1 - values[2] / values[3])]


def _kept(program):
    return [10 ** _collapse(program, "bert", variant, 12) for variant in ("san+skip", "full")]


def _medians(program):
    rows = program.rows(BOX)
    worst = 0
    for length in (1, 2, 3):
        ours = one(rows, metric="path.attention_reversed.rank1_remainder.composite", length=length, kind="median")
        published = one(rows, metric="published.rank1_remainder.composite", length=length, kind="median")
        worst = max(worst, abs(ours["mean"] / published["mean"] - 1))
    return [1, 3, 100 * worst]


def _reproduced(program):
    rows = {row["claim"]: row for row in program.reproduced("agreement") if row["metric"] == "agreement.verdict"}
    values = []
    for model in ("BERT", "XLNet", "ALBERT"):
        row = rows[f"Figure 2, {model} at initialisation"]
        values += [round(row["mean"] * row["n"]), row["n"]]
    return [*values, rows["Figure 5, path lengths"]["mean"], rows["Box-plot of chained attention, BERT at initialisation"]["mean"]]


def _task(training, options, *wanted):
    def values(program):
        rows = program.trained(training, options)
        return [one(rows, metric="accuracy", kind=kind, k=k, length=length)["mean"] for kind, k, length in wanted]

    return values


SORT, HULL, MEMORIZE = ("sort --seeds 3", ""), ("hull --seeds 3", ""), ("memorize", "--samples 100")
MODEL, POSITION, MAJORITY = (("model", None, None), ("baseline.position", None, None), ("baseline.majority", None, None))


def _sort_share(program):
    all_of_length_1 = _task(*SORT, ("exact", None, 1))(program)[0]
    return [1, 12, 729, 100 * all_of_length_1]


def _decay(program, model, variant):
    rows = program.rows(f"collapse {model}-base@init --samples 8" + COLLAPSE)
    return one(rows, variant=variant, metric="decay", kind="relative_residual")["mean"]


def _albert_factors(program):
    return [_decay(program, "albert", variant) for variant in ("san+skip", "full")]


def _xlnet_factor(program):
    return [_decay(program, "xlnet", "san")]


def _xlnet_without(program):
    factor = _decay(program, "xlnet", NO_NORM)
    return [factor, _decay(program, "xlnet", "san") / factor]


def _counted(program):
    rows = program.rows("counts 12 12")
    shares = {row["length"]: row["mean"] for row in rows if row["metric"] == "paths.proportion"}
    return [100 * (shares[11] + shares[12]), 11, 12]


def _circle_learns(program):
    networks = [n for n in circle_networks(program) if (n["variant"], n["width"], n["seed"]) == ("attention", "width 32", 1)]
    steps, begins = ({n[metric] for n in networks} for metric in ("fall.steps", "fall.begins"))
    return [*(100 * n["loss.relative"] for n in networks), *steps, *begins]


def _circle_changes(program):
    outcomes = {}
    for n in circle_networks(program):
        outcomes.setdefault((n["variant"], n["width"], n["seed"]), []).append((has_learned(n), tracks_meet(n)))
    pairs = list(outcomes.values())
    return [len(pairs), *(sum(a[i] != b[i] for a, b in pairs) for i in (0, 1))]


def _circle_not_learned(program):
    networks = [n for n in circle_networks(program) if n["variant"] == "attention"]
    return [sum(not has_learned(n) for n in networks), len(networks)]


def _circle_falls(program):
    rows = circle_rows(program, "Haswell", 1)
    about = {"metric": "distance", "variant": "attention", "model": "width 32"}
    distances = {r["step"]: r["mean"] for r in rows if all(r[k] == v for k, v in about.items())}
    return [distances[0], *(distances[step] for step in range(11, 17)), 11, 16]


def _sketch_rates(program):
    return [x for n, k in ((64, 167), (4096, 333)) for x in (statistics.mean(sketch_values(program, "jl.failure", n, k=k)), n)][:4]


def _sketch_needs(program):
    lengths = (64, 128, 256, 512, 1024, 2048, 4096)
    needed = {n: sketch_values(program, "jl.k_needed", n) for n in lengths}
    every = [k for found in needed.values() for k in found]
    return [min(every), max(every), statistics.median(needed[64]), statistics.median(needed[2048]), 2048]


COLLAPSE_DOC = "docs/collapse.md"
def _rate(name, variant="san"):
    """The factor per layer of a network of modern-pairs."""
    return lambda program: one(pair_rows(program, name), variant=variant, metric="decay", kind="relative_residual")["mean"]


def _end(name, variant):
    metric = "log10_relative_residual.composite"
    return lambda program: one(pair_rows(program, name), variant=variant, layer=24, metric=metric, kind="exact")["mean"]


def _all(*parts):
    return lambda program: [part(program) for part in parts]


def _kept_in_window(program):
    metric = "log10_relative_residual.composite"
    return [
        10 ** one(trained_rows(program, model), variant="san window:w=8", layer=12, metric=metric, kind="exact")["mean"]
        for model in ("albert-rxnmapper", "kwt1-speech-bert")
    ]


def _trained_rate(program):
    random = program.rows("collapse {models}/gpt2-capp@init --samples 8 --tokens 64 --variant san")
    return [
        one(rows, variant="san", metric="decay", kind="relative_residual")["mean"]
        for rows in (trained_rows(program, "gpt2-capp"), random)
    ]


FACTS = [
    Fact("reproduce", "docs/report.md", "BERT {} of {} points, XLNet {} of {}, ALBERT {} of {}, Figure 5 to {}, the box-plot within a factor {}", _reproduced),
    Fact("fig2", "docs/results.md", "**{} of {} published points agree ({} %).", _agreement),
    Fact("fig2", "docs/results.md", "published {}, ours {} ± {} ({} standard deviations)", _first_state),
    Fact("box", "docs/results.md", "lengths {} to {} within {} % of the published medians", _medians),
    Fact("collapse", COLLAPSE_DOC, "The last local exponent is {} for BERT, {} for ALBERT", _exponents),
    Fact("collapse", COLLAPSE_DOC, "at layer 12 the tokens of BERT agree to {} decimal places", _digits("bert", "san")),
    Fact("collapse", COLLAPSE_DOC, "Without it BERT's logarithm is {} times as large ({} against {}), ALBERT's {} times", _without_norms),
    Fact("collapse", COLLAPSE_DOC, "{} instead of {} for BERT, {} instead of {} for ALBERT, a gain of {} % and {} % in the logarithm", _mlps),
    Fact("collapse", COLLAPSE_DOC, "ALBERT loses by a factor of {} and {} per layer", _albert_factors),
    Fact("collapse", COLLAPSE_DOC, "a factor of {} per layer with norms", _xlnet_factor),
    Fact("collapse", COLLAPSE_DOC, "without it the factor is {}, {} times smaller", _xlnet_without),
    Fact("tasks", "docs/training.md", "The network has {}; guessing by position {}, the most frequent digit {}.", _task(*SORT, MODEL, POSITION, MAJORITY)),
    Fact("tasks", "docs/training.md", "The network has {}; the most frequent answer {}.", _task(*HULL, MODEL, MAJORITY)),
    Fact("tasks", "docs/training.md", "All paths of length {} together ({} of the embedding's {}, and those that begin at biases) sort {} % of the digits", _sort_share),
    Fact("tasks", "docs/results.md", "(all paths of length 1 alone: {} and {})", lambda p: [*_task(*SORT, ("exact", None, 1))(p), *_task(*MEMORIZE, ("exact", None, 1))(p)]),
    Fact(
        "circle",
        "docs/training.md",
        "(a loss of {} % of that of standing still with Haswell's kernel, {} % with SkylakeX's) and its tracks meet within {} steps, from step {} on",
        _circle_learns,
        0.3,
    ),
    Fact(
        "circle",
        "docs/training.md",
        "of {} networks of the circle below, trained with Haswell's and with SkylakeX's kernel, {} changed in whether they learned the step and {} in",
        _circle_changes,
        0.5,
    ),
    Fact("circle", "docs/training.md", "learns the step worst: {} of {} did not.", _circle_not_learned, 0.3),
    Fact("circle", "docs/training.md", "the distance of the tracks, {} at first, is {}, {}, {}, {}, {} and {} at steps {} to {}.", _circle_falls, 0.3),
    Fact("attention-sketches", "docs/attention.md", "hardly depending on n ({} at n = {}, {} at {})", _sketch_rates, 0.15),
    Fact(
        "attention-sketches",
        "docs/attention.md",
        "lies between {} and {} for every n and seed. Its median over the seeds grows from {} to {} up to n = {},",
        _sketch_needs,
        0.15,
    ),
    Fact("attention-exact", "docs/attention.md", "{} per layer for a window of", lambda p: [exact_factor(p, "window")]),
    Fact("attention-exact", "docs/attention.md", "{} with a window of", lambda p: [exact_factor(p, "bigbird")]),
    Fact("counts", "docs/paths.md", "({} % of BERT's have length {} or {}: `rankfall counts 12 12`)", _counted),
    Fact("collapse", COLLAPSE_DOC, "Their own skip makes no difference ({})", _digits("bert", NO_SKIP)),
    Fact("collapse", COLLAPSE_DOC, "With it BERT keeps a residual of {} (`san+skip`) or {} (`full`) at layer 12", _kept),
    Fact(
        "modern-pairs",
        "docs/results.md",
        "GPT-NeoX's san falls by the same factor of {} per layer in both forms; with MLPs and without skips the parallel form "
        "keeps 10^{} after 24 layers, the other 10^{},",
        _all(_rate("neox_parallel"), _end("neox_parallel", "san+mlp"), _end("neox_sequential", "san+mlp")),
    ),
    Fact(
        "modern-pairs",
        "docs/results.md",
        "leave {} per layer as it is; the full network keeps 10^{} instead of 10^{}",
        _all(_rate("gemma2"), _end("gemma2", "full"), _end("llama", "full")),
    ),
    Fact(
        "modern-pairs",
        "docs/results.md",
        "{} per layer, as with a pre-norm and q/k norms (Qwen 3: {}).",
        _all(_rate("olmo2"), _rate("qwen3")),
    ),
    Fact(
        "modern-pairs",
        "docs/results.md",
        "**q/k norm: hardly.** {} instead of {} per layer.",
        _all(_rate("qwen3"), _rate("llama")),
    ),
    Fact(
        "modern-pairs",
        "docs/results.md",
        "{} per layer instead of {} with rotary positions, so that 10^{} remains after 24 layers instead of 10^{}.",
        _all(_rate("bloom"), _rate("neox_sequential"), _end("bloom", "san"), _end("neox_sequential", "san")),
    ),
    Fact(
        "modern-pairs",
        "docs/results.md",
        "With 8 tokens {} per layer, 10^{} instead of 10^{};",
        _all(_rate("mistral"), _end("mistral", "san"), _end("llama", "san")),
    ),
    Fact(
        "trained-laws",
        "docs/results.md",
        "window of 8 tokens it keeps {} (ALBERT) and {} (KWT-1) after 12 layers.",
        _kept_in_window,
    ),
    Fact("trained-laws", "docs/results.md", "GPT-2's residual falls by a factor of {} per layer, with random weights (`DIR@init`) by {},", _trained_rate),
]
