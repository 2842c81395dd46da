"""Tables of collapse.md."""

from .common import INPUTS, KWT, LLAMA, RXN, minus, one, table

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
    if row["mean"] is None or row["status"] == "not_carried":
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
