"""Functions made from the command's own table of studies: the same names, options and numbers."""

from __future__ import annotations

import difflib
import inspect
import os
import textwrap
from typing import Any, Callable, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from . import _core, arrays
from .errors import ClaimError, InputError, UsageError
from .model import Model
from .options import reporter
from .result import Result

TABLE: Dict[str, Dict[str, Any]] = {f["name"]: f for f in _core.functions()}

# An example of each function for its docstring. python/tests/test_docstrings.py runs them in a folder that has the
# directories "trained" (by `rankfall train sort -o trained`) and "model" (a checkpoint with reference states).
_EXAMPLES: Dict[str, Tuple[str, str]] = {
    "measure": (
        'rf.measure("bert-tiny@init", variants=["full", "san"], samples=2, tokens=8)["cosine.mean"]["san"].shape',
        "(3,)",
    ),
    "collapse": (
        'rf.collapse("bert-tiny@init", variants="san", samples=1, tokens=8)["log10_relative_residual.composite"]["san"][2] < -6',
        "True",
    ),
    "paths": ('"paths.share.projection" in rf.paths("bert-tiny@init", samples=1, tokens=8)', "True"),
    "counts": ("len(rf.counts(2, 3))", "12"),
    "bounds": (
        '"violated" in rf.bounds("san:layers=1,heads=1,dim=8,norm=none", variants="san", samples=1, tokens=4).status',
        "False",
    ),
    "theory": (
        'rf.theory("bert-tiny@init", variants="san", samples=1, tokens=8)["log10_relative_residual.composite"]["san"][2] < -6',
        "True",
    ),
    "lowrank": ('"attention.sigma2" in rf.lowrank("bert-tiny@init", only="spectra", samples=1, tokens=8)', "True"),
    "audit": ('rf.audit(claims="1", trials=10).command', "'audit'"),
    "effectiveness": ('"accuracy" in rf.effectiveness("trained", draws=2, samples=20)', "True"),
    "parity": ('rf.parity("model")["parity.hidden.max"]["full"].max() < 1e-4', "True"),
    "tokens": ('rf.tokens("model", text=["the end"]).columns("all")["text"][:2]', "['[CLS]', 'the']"),
    "bench": ('rf.bench("san:layers=1,heads=1,dim=8", samples=1, tokens=8, rounds=1).command', "'bench'"),
    "doctor": ('"doctor.blas" in rf.doctor()', "True"),
}


# What a help text says of command lines, as it is here.
_WORDS = {
    "exit with status 5 if": "raise ClaimError if",
    "; exit status 5 if it disagrees": "; ClaimError if it disagrees",
    "; repeatable": "; one or a list",
    ", repeatable": ", one or a list",
    " (- for standard input)": "",
    ", to standard output or -o": "",
    "joined by commas": "one or a list",
}


def _text(value: Any, name: str) -> str:
    if isinstance(value, bool):
        raise InputError(f"{name}: found {value}, expected a value")
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        text = os.fsdecode(text) if isinstance(text, bytes) else text
        if "\0" in text:
            raise InputError(f"{name}: {text!r} has a NUL character")
        return text
    if isinstance(value, (int, float, np.integer, np.floating)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    raise InputError(f"{name}: found {type(value).__name__}, expected a text or a number")


def _words(argument: Mapping[str, Any], value: Any) -> List[str]:
    """An argument as words of a command line."""
    name, option = argument["name"], argument["option"]
    if not argument["value"]:
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{name}: found {value!r}, expected True or False")
        return [option] if value else []
    if isinstance(value, (list, tuple, range, set, np.ndarray)):
        texts = [_text(item, name) for item in value]
        if not argument["several"] and not argument["joined"] and len(texts) != 1:
            if "," in argument["value"] or "LIST" in argument["value"] or "NUMBERS" in argument["value"]:
                return [f"{option}={','.join(texts)}"]
            raise InputError(f"{name}: found {len(texts)} values, expected one")
        return [f"{option}={','.join(texts)}"] if argument["joined"] else [f"{option}={text}" for text in texts]
    return [f"{option}={_text(value, name)}"]


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _sequences(value: Any, name: str) -> List[Any]:
    """Token ids: one list, or several."""
    value = arrays._numpy(value) if hasattr(value, "__array__") or hasattr(value, "__dlpack__") else value
    try:
        items = list(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: found {type(value).__name__}, expected token ids, or a file's name") from None
    if items and not hasattr(items[0], "__len__"):
        items = [items]
    out = []
    for item in items:
        try:
            ids = np.asarray(item)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name}: {error}") from None
        if ids.shape == (0,):
            raise InputError(f"{name}: a sample without tokens")
        if ids.ndim != 1 or ids.dtype.kind not in "iu":
            raise InputError(f"{name}: found shape {ids.shape} of {ids.dtype}, expected lists of whole numbers")
        if ids.size and (ids.min() < -(2**31) or ids.max() >= 2**31):
            raise InputError(f"{name}: {ids.max()} is far beyond any vocabulary")
        out.append(ids.astype(np.int32).tolist())
    if not out:
        raise InputError(f"{name}: no samples")
    return out


def _axes(value: Any) -> int:
    try:
        return int(np.ndim(value))
    except (TypeError, ValueError):
        return -1


def _matrices(value: Any, name: str, axes: int) -> List[Any]:
    """Arrays with so many axes each: one, or several."""
    if isinstance(value, (list, tuple)) and len(value) and _axes(value[0]) == axes:
        items = [arrays.as_floats(item, name, axes) for item in value]
    else:
        array = arrays.as_floats(value, name, axes)
        if array.ndim not in (axes, axes + 1):
            raise InputError(f"{name}: shape {array.shape}, expected {axes} axes, or {axes + 1} with samples in front")
        items = [array] if array.ndim == axes else list(array)
    if not items:
        raise InputError(f"{name}: no samples")
    return [np.ascontiguousarray(item, dtype=np.float64) for item in items]


def given_input(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Takes out of the arguments what is in memory, and not a file's name."""
    given: Dict[str, Any] = {}
    text = arguments.get("text")
    if text is not None and not _is_path(text):
        try:
            texts = list(text)
        except (TypeError, ValueError):  # nothing to go through, or a closed file
            texts = []
        if not texts or not all(isinstance(t, str) for t in texts):
            raise InputError("text: expected a file's name, or a list of texts")
        given["texts"] = [t for t in texts]
        del arguments["text"]
    ids = arguments.get("ids")
    if ids is not None and not _is_path(ids):
        given["ids"] = _sequences(ids, "ids")
        del arguments["ids"]
    for name, axes in (("features", 2), ("hidden", 2), ("pixels", 3)):
        value = arguments.get(name)
        if value is None or _is_path(value):
            continue
        if name == "pixels" and isinstance(value, (list, tuple)) and value and all(_is_path(v) for v in value):
            continue
        given[name] = _matrices(value, name, axes)
        del arguments[name]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)}: expected one kind of input")
    mask = arguments.pop("mask", None)
    if mask is not None:
        n = [len(s) for key in ("ids", "features", "hidden") for s in given.get(key, [])]
        if not n:
            raise UsageError("mask: goes with ids, features or hidden states in memory")
        rows = list(mask) if isinstance(mask, (list, tuple)) else list(np.atleast_2d(arrays._numpy(mask)))
        if rows and np.ndim(rows[0]) == 0:
            rows = [rows]
        rows = [arrays._numpy(row) for row in rows]
        if [row.shape for row in rows] != [(length,) for length in n]:
            raise InputError(f"mask: shapes {[row.shape for row in rows]}, expected one entry for each of {n} tokens")
        given["mask"] = [(row != 0).astype(np.uint8).tolist() for row in rows]
    return given


def _positional(function: Mapping[str, Any], values: Sequence[Any]) -> Tuple[List[str], Dict[str, Any]]:
    """Models and other words in front; what a loaded model brings along."""
    flat: List[Any] = []
    for value in values:
        flat.extend(value) if isinstance(value, (list, tuple)) else flat.append(value)
    words: List[str] = []
    brought: Dict[str, Any] = {}
    for value in flat:
        if isinstance(value, Model):
            if len(flat) > 1 and value.arguments():
                raise UsageError("a changed model goes alone; give the others by name, and variants=")
            brought = value.arguments()
            words.append(value.spec)
        else:
            words.append(_text(value, "model"))
    return words, brought


def _run(name: str, values: Sequence[Any], arguments: Dict[str, Any]) -> Result:
    function = TABLE[name]
    progress = arguments.pop("progress", None)
    positional = [a for a in function["arguments"] if not a["option"]]
    named = {a["name"]: a for a in function["arguments"] if a["option"]}
    arguments = {key: value for key, value in arguments.items() if value is not None}
    for argument in positional:
        if argument["name"] in arguments:
            values = [*values, arguments.pop(argument["name"])]
    words, brought = _positional(function, values)
    if words and not positional:
        raise TypeError(f"{name}() takes no positional arguments")
    changed = {"without", "variants", "attention"} & brought.keys()
    clashes = {"without", "variants", "attention", "as_published", "ablate"} & arguments.keys() if changed else set()
    for key in sorted(clashes | (brought.keys() & arguments.keys())):
        raise UsageError(f"{key}: the model brings its own; give its name instead")
    for key, value in brought.items():
        if key not in named:
            raise UsageError(f"{name} has no {key}=, which this model was loaded with; give its name instead")
        arguments[key] = value
    given = given_input(arguments) if "text" in named else {}
    options: List[str] = []
    for key, value in arguments.items():
        if key not in named:
            near = difflib.get_close_matches(key, [*named, "progress"], 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{name}() got an unexpected argument '{key}'{hint}")
        options += _words(named[key], value)
    taken: List[Result] = []
    report = reporter(progress)
    try:
        line = options + (["--"] + words if words else [])
        encoded = [word.encode("utf-8", "surrogateescape") for word in line]  # names of files may be any bytes
        _core.run_study(name, encoded, given, report, lambda r: taken.append(Result(r)))
    except ClaimError as error:
        error.result = taken[0] if taken else None
        raise
    finally:
        close = getattr(report, "close", None)
        if close is not None and report is not progress:
            close()
    return taken[0]


def _wrapped(text: str, indent: str = "    ") -> str:
    return textwrap.fill(" ".join(text.split()), 110, initial_indent=indent, subsequent_indent=indent)


def _docstring(function: Mapping[str, Any]) -> str:
    lines = [function["summary"] + ".", ""]
    if function["notes"].strip():
        lines += [_wrapped(function["notes"].replace("--format csv or json", "to_pandas()"), ""), ""]
    lines.append("Arguments:")
    for a in function["arguments"]:
        default = f" (default: {a['default']})" if a["default"] else ""
        text = a["help"]
        for of_the_command, here in _WORDS.items():
            text = text.replace(of_the_command, here)
        lines.append(_wrapped(f"{a['name']}: {text}{default}"))
    if any(a["name"] == "text" for a in function["arguments"]):
        lines.append(_wrapped("text also takes a list of texts; ids, features, hidden and pixels take arrays; mask: 1 for"
                              " tokens that count, 0 for padding"))
    lines.append(_wrapped("progress: True, False, or a function of (done, total, what); rankfall.options says more"))
    lines += ["", "Returns a rankfall.Result. The command `rankfall " + function["name"] + "` gives the same numbers."]
    if function["name"] in _EXAMPLES:
        example, printed = _EXAMPLES[function["name"]]
        lines += ["", ">>> import rankfall as rf", ">>> " + example, printed]
    return "\n".join(lines)


def make(function: Mapping[str, Any]) -> Callable[..., Result]:
    """The function of a study."""
    name = str(function["name"])

    def study(*args: Any, **arguments: Any) -> Result:
        return _run(name, args, arguments)

    positional = [a["name"] for a in function["arguments"] if not a["option"]]
    parameters = [inspect.Parameter(positional[0], inspect.Parameter.VAR_POSITIONAL)] if positional else []
    keywords = [a["name"] for a in function["arguments"] if a["option"]]
    if "text" in keywords:
        keywords.append("mask")
    parameters += [inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=None) for k in [*keywords, "progress"]]
    study.__name__ = study.__qualname__ = name
    study.__module__ = "rankfall"
    study.__doc__ = _docstring(function)
    study.__signature__ = inspect.Signature(parameters, return_annotation=Result)  # type: ignore[attr-defined]
    return study
