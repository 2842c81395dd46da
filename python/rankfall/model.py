"""Models: what they are made of, and their forward pass."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import InputError, UsageError
from .options import reporter

__all__ = ["Branch", "Forward", "Model", "Network", "SubLayer", "load"]


@dataclass(frozen=True)
class Branch:
    """One branch of a sub-layer: scale * norm_out(function(norm_in(x))).

    >>> branch = load("gpt2@init").network.layers[0].branches[0]
    >>> branch.function, branch.norm_in, branch.details["n_heads"], branch.details["causal"]
    ('attention', 'layer', 12, True)
    """

    function: str  # "attention", "mlp" or "elementwise"
    norm_in: Optional[str]
    norm_out: Optional[str]
    scale: float
    details: Mapping[str, Any]  # n_heads, d_head, causal, window ...; width and gated of an MLP


@dataclass(frozen=True)
class SubLayer:
    """One step of a network: y = norm_post(skip * x + the sum of its branches).

    >>> layer = load("pythia-70m@init").network.layers[0]  # attention and MLP beside each other
    >>> layer.block, layer.skip, [branch.function for branch in layer.branches]
    (0, 1.0, ['attention', 'mlp'])
    """

    block: int
    formula: str
    skip: float
    branches: Tuple[Branch, ...]
    norm_post: Optional[str]

    def __repr__(self) -> str:
        return f"<block {self.block}: {self.formula}>"


@dataclass(frozen=True)
class Network:
    """A network as data: a flat list of sub-layers. Printed, it has one line per kind of sub-layer.

    >>> network = load("bert-tiny@init").network
    >>> network.family, network.n_blocks, network.n_heads, network.d_model, len(network.layers)
    ('bert', 2, 2, 128, 4)
    >>> network.n_parameters
    4369408
    """

    family: str
    n_blocks: int
    n_heads: int
    d_model: int
    vocab: int
    max_positions: int
    layers: Tuple[SubLayer, ...]
    tensors: Tuple[Tuple[str, Tuple[int, ...]], ...]
    text: str

    @property
    def n_parameters(self) -> int:
        """The number of weights of all stored tensors; a variant of a model has its tensors, whether it uses them or
        not."""
        return sum(int(np.prod(shape)) for _, shape in self.tensors)

    def __repr__(self) -> str:
        return self.text


def _network(core: Any) -> Network:
    fixed = ("function", "norm_in", "norm_out", "scale")
    layers = []
    for layer in core.layers():
        branches = tuple(
            Branch(**{k: b[k] for k in fixed}, details={k: v for k, v in b.items() if k not in fixed})
            for b in layer["branches"]
        )
        layers.append(SubLayer(layer["block"], layer["formula"], layer["skip"], branches, layer["norm_post"]))
    tensors = tuple((name, tuple(shape)) for name, shape in core.tensors())
    return Network(**core.sizes(), layers=tuple(layers), tensors=tensors, text=core.describe())


@dataclass(frozen=True)
class Forward:
    """The result of a forward pass. Arrays have the axes (samples, tokens, channels); they are lists of arrays where the
    lengths of samples differ.

    `last`: the last state; `states`: by layer; `attention`: by (block, head), (samples, queries, keys).

    >>> out = load("bert-tiny@init").forward(ids=[[5, 6, 7], [8, 9, 10]], states=[0], attention=[(1, 0)])
    >>> out.last.shape, out.states[0].shape, out.attention[1, 0].shape
    ((2, 3, 128), (2, 3, 128), (2, 3, 3))
    """

    last: Any
    states: Dict[int, Any]
    attention: Dict[Tuple[int, int], Any]
    notes: Tuple[str, ...] = ()


def _together(arrays: List[npt.NDArray[Any]]) -> Any:
    return np.stack(arrays) if len({a.shape for a in arrays}) == 1 else arrays


class Model:
    """A network with its weights, as `load` opens it.

    >>> m = load("bert-tiny@init")
    >>> m.name, m.drawn, m.notes
    ('bert-tiny@init', True, [])
    >>> m.network.layers[0]
    <block 0: y = LayerNorm(x + attention(x))>
    >>> m.without("attn_skip").network.layers[0]
    <block 0: y = LayerNorm(attention(x))>
    """

    def __init__(self, core: Any, spec: str, seed: int, depth: Optional[int], changes: Mapping[str, str]) -> None:
        self._core = core
        self.spec = spec
        self.seed = seed
        self._depth = depth
        self._changes = dict(changes)

    @property
    def name(self) -> str:
        """The name that it was loaded by."""
        return str(self._core.name)

    @property
    def drawn(self) -> bool:
        """Whether the weights are a random initialisation."""
        return bool(self._core.drawn)

    @property
    def notes(self) -> List[str]:
        """What a reader of results should know about the model's files."""
        return list(self._core.notes)

    @property
    def network(self) -> Network:
        """The layers as data, which a change like `without` rewrites."""
        return _network(self._core)

    def digest(self) -> str:
        """The SHA-256 of the files with the weights, all of which it reads; empty for drawn weights.

        >>> load("bert-tiny@init").digest()
        ''
        """
        return str(self._core.digest())

    def _changed(self, core: Any, key: str, value: str) -> Model:
        if key in self._changes or ({"without", "variants"} <= {key, *self._changes}):
            raise UsageError(f"{key}: this model is changed already; begin with the loaded one")
        return Model(core, self.spec, self.seed, self._depth, {**self._changes, key: value})

    def without(self, *parts: str) -> Model:
        """The model without some of attn_skip, mlp, mlp_skip and norm: several arguments, or names joined by commas.

        >>> load("bert-tiny@init").without("mlp", "attn_skip")
        <rankfall model bert-tiny@init: random weights, 4,369,408 parameters, without: mlp,attn_skip>
        """
        joined = ",".join(_word(part, "without") for part in parts)
        return self._changed(self._core.without(joined), "without", joined)

    def variant(self, name: str) -> Model:
        """The model as a variant: full, san (attention without skips and MLPs), san+mlp, san+skip or no-norm.

        >>> load("bert-tiny@init").variant("san").network.layers[0]
        <block 0: y = LayerNorm(attention(x))>
        """
        return self._changed(self._core.variant(_word(name, "variant")), "variants", name)

    def with_attention(self, kind: str) -> Model:
        """The model with another kind of attention, of those that `rankfall.attention_kinds()` lists.

        >>> "window 8" in repr(load("bert-tiny@init").with_attention("window:w=8").network)
        True
        """
        return self._changed(self._core.with_attention(_word(kind, "attention")), "attention", kind)

    def arguments(self) -> Dict[str, Any]:
        """The arguments that a study needs beside the model's name to run this very model.

        >>> load("bert-tiny@init", seed=3).without("mlp").arguments()
        {'without': 'mlp', 'seed': 3}
        """
        out: Dict[str, Any] = dict(self._changes)
        if self.drawn and self.seed:
            out["seed"] = self.seed
        if self._depth is not None:
            out["depth"] = self._depth
        return out

    def forward(
        self,
        *,
        text: Any = None,
        ids: Any = None,
        features: Any = None,
        hidden: Any = None,
        pixels: Any = None,
        mask: Any = None,
        states: Union[Sequence[int], str, None] = None,
        attention: Union[Sequence[Tuple[int, int]], str, None] = None,
        precision: str = "f32",
        samples: Optional[int] = None,
        tokens: Optional[int] = None,
        tokenizer: Union[str, "os.PathLike[str]", None] = None,
        pad: bool = False,
        seed: int = 0,
        progress: Any = None,
    ) -> Forward:
        """Runs the model; without an input, on random ones drawn from `seed`.

        `states`: which hidden states to keep, 0 (the input) to the number of blocks, negative ones from the end, or
        "all". `attention`: which heads, as (block, head), or "all". `last` always has the last state, final norm
        applied. `progress`: True, False, or a function of (done, total, what); `rankfall.options` says more.

        >>> out = load("bert-tiny@init").forward(ids=[[5, 6, 7]], states=[-1], attention=[(0, 1)], precision="f64")
        >>> out.states[2].shape, out.attention[0, 1].shape, str(out.last.dtype)
        ((1, 3, 128), (1, 3, 3), 'float64')
        """
        from ._calls import given_input

        if precision not in ("f32", "f64"):
            raise UsageError(f"precision='{precision}': expected f32 or f64")
        sizes = self._core.sizes()
        named = {"text": text, "ids": ids, "features": features, "hidden": hidden, "pixels": pixels, "mask": mask}
        arguments: Dict[str, Any] = {k: v for k, v in named.items() if v is not None}
        given = given_input(arguments)
        options = {k: os.fspath(v) if not isinstance(v, (list, tuple)) else v for k, v in arguments.items()}
        if "pixels" in options and not isinstance(options["pixels"], (list, tuple)):
            options["pixels"] = [options["pixels"]]
        options.update({k: whole(v, k, 1, 1_000_000) for k, v in (("samples", samples), ("tokens", tokens)) if v is not None})
        if tokenizer is not None:
            options["tokenizer"] = os.fspath(tokenizer)
        if not isinstance(pad, bool):
            raise InputError(f"pad: found {pad!r}, expected True or False")
        options["pad"] = pad
        chosen = _states(states, sizes["n_blocks"])
        heads = _heads(attention, sizes["n_blocks"], sizes["n_heads"])
        report = reporter(progress)
        try:
            out, notes = self._core.forward(
                _core.Input(given, options), whole(seed, "seed", 0, 2**64 - 1), precision == "f64", chosen, heads, report
            )
        finally:
            close = getattr(report, "close", None)
            if close is not None and report is not progress:
                close()
        return Forward(
            last=_together([o["last"] for o in out]),
            states={s: _together([o["states"][s] for o in out]) for s in chosen},
            attention={h: _together([o["attention"][h] for o in out]) for h in heads},
            notes=tuple(notes),
        )

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_load_again, (self.spec, self.seed, self._depth, self._changes))

    def __repr__(self) -> str:
        origin = "random weights" if self.drawn else "weights from files"
        changes = "".join(f", {key}: {value}" for key, value in self._changes.items())
        return f"<rankfall model {self.name}: {origin}, {self.network.n_parameters:,} parameters{changes}>"


def _load_again(spec: str, seed: int, depth: Optional[int], changes: Mapping[str, str]) -> Model:
    model = load(spec, seed=seed, depth=depth)
    for key, value in changes.items():
        if key == "without":
            model = model.without(value)
        else:
            model = model.variant(value) if key == "variants" else model.with_attention(value)
    return model


def _word(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{name}: found {value!r}, expected a text")
    return value


def whole(value: Any, name: str, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name}: found {value!r}, expected a whole number") from None
    if isinstance(value, bool) or not least <= number <= most:
        raise InputError(f"{name}: found {value!r}, expected {least} to {most}")
    return number


def _place(value: Any, n: int, what: str) -> int:
    try:
        index = int(value.__index__())
    except AttributeError:
        raise InputError(f"{what}: found {value!r}, expected a whole number") from None
    if not -n <= index < n:
        raise InputError(f"{what} {index}: expected {-n} to {n - 1}")
    return index % n


def _states(states: Union[Sequence[int], str, None], n_blocks: int) -> List[int]:
    if states is None:
        return []
    if isinstance(states, str):
        if states != "all":
            raise UsageError(f"states='{states}': expected numbers, or 'all'")
        return list(range(n_blocks + 1))
    if not hasattr(states, "__iter__"):
        raise InputError(f"states: found {states!r}, expected a list of numbers, or 'all'")
    return sorted({_place(s, n_blocks + 1, "states") for s in states})


def _heads(attention: Union[Sequence[Tuple[int, int]], str, None], n_blocks: int, n_heads: int) -> List[Tuple[int, int]]:
    if attention is None:
        return []
    if isinstance(attention, str):
        if attention != "all":
            raise UsageError(f"attention='{attention}': expected pairs (block, head), or 'all'")
        return [(b, h) for b in range(n_blocks) for h in range(n_heads)]
    if not hasattr(attention, "__iter__"):
        raise InputError(f"attention: found {attention!r}, expected pairs (block, head), or 'all'")
    out = []
    for pair in attention:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"attention: found {pair!r}, expected pairs (block, head)")
        out.append((_place(pair[0], n_blocks, "attention: block"), _place(pair[1], n_heads, "attention: head")))
    return sorted(set(out))


def load(
    model: Union[str, "os.PathLike[str]"], *, seed: int = 0, depth: Optional[int] = None, ignore_unused: bool = False
) -> Model:
    """Opens a model: a directory with config.json and model.safetensors, `org/name` in the local hub cache, a preset at
    random initialisation (`bert-base@init`), or a specification (`san:layers=12,heads=12,dim=768`).

    Weights are read, or drawn from `seed`, when they are needed. `depth`: another number of blocks.

    >>> load("san:layers=2,heads=2,dim=8,vocab=10")
    <rankfall model san:layers=2,heads=2,dim=8,vocab=10: random weights, 776 parameters>
    """
    spec = os.fspath(model)
    seed = whole(seed, "seed", 0, 2**64 - 1)
    depth = None if depth is None else whole(depth, "depth", 1, 10_000)
    core = _core.load(spec.encode("utf-8", "surrogateescape"), seed, depth, bool(ignore_unused))
    return Model(core, spec, seed, depth, {})
