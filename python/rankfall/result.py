"""Results of studies: tables, curves, files and pages."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _core, notebook
from .errors import InputError, UsageError

__all__ = ["Result", "read", "report"]

_INTEGERS = {"layer", "head", "n", "seed", "sample", "length", "step", "tokens", "k"}
_REALS = {"mean", "std"}
_AXES = ("layer", "head", "length", "step")
_LEVELS = ("highest", "seeds", "samples", "all")
Path_ = Union[str, "os.PathLike[str]"]


def _level(rows: str) -> str:
    if rows not in _LEVELS:
        raise UsageError(f"rows='{rows}': expected one of {', '.join(_LEVELS)}")
    return rows


class Result:
    """What a study returns: tidy rows, one value each, and how they were made.

    In a notebook it shows its answer and a chart, elsewhere its table. `len(r)` is the number of rows, `for row in r`
    gives each as a dictionary, and `r[metric]` the curves of a metric.

    >>> import rankfall as rf
    >>> r = rf.measure("bert-tiny@init", variants=["full", "san"], samples=2, tokens=8)
    >>> r.command, r.manifest["samples"], len(r.answers) > 0, type(r.notes).__name__
    ('measure', 2, True, 'list')
    >>> r["cosine.mean"]["san"].shape
    (3,)
    >>> "cosine.mean" in r.metrics, "rounding_floor" in r.status
    (True, True)
    """

    def __init__(self, core: Any) -> None:
        self._core = core

    @property
    def command(self) -> str:
        """The name of the study."""
        return str(self._core.command)

    @property
    def manifest(self) -> Dict[str, Any]:
        """How the result was made: seed, precision, threads, BLAS, digests of the weights, notes."""
        return dict(self._core.manifest())

    @property
    def notes(self) -> List[str]:
        """What a person should know about this run."""
        return list(self.manifest.get("notes", []))

    @property
    def answers(self) -> List[str]:
        """What was found, in one to three sentences."""
        return list(self._core.answers())

    @property
    def status(self) -> Dict[str, int]:
        """How many rows have each status (`holds`, `violated`, `rounding_floor` ...). Rows without one do not count."""
        return dict(Counter(s for s in self._core.columns("all")["status"] if s is not None))

    @property
    def metrics(self) -> List[str]:
        """The names of the metrics in it, in their order."""
        return list(dict.fromkeys(self._core.columns("all")["metric"]))

    def columns(self, rows: str = "highest") -> Dict[str, List[Any]]:
        """The rows as lists, one for each column that is not empty; None where a row has no value.

        `rows` chooses a level: means over `seeds`, over `samples`, `all`, or the `highest` that there is.

        >>> import rankfall as rf
        >>> list(rf.counts(2, 3).columns())
        ['variant', 'metric', 'mean', 'length', 'exact']
        """
        return {k: v for k, v in self._core.columns(_level(rows)).items() if any(item is not None for item in v)}

    def to_pandas(self, rows: str = "highest") -> Any:
        """The rows as a pandas DataFrame, without columns that are empty; `rows` as for `columns`.

        >>> import rankfall as rf
        >>> len(rf.counts(2, 3).to_pandas())
        12
        """
        import pandas as pd

        frame = {}
        for name, values in self.columns(rows).items():
            if name in _INTEGERS:
                frame[name] = pd.array(values, dtype="UInt64" if name == "seed" else "Int64")
            elif name in _REALS:
                frame[name] = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
            else:
                frame[name] = values
        return pd.DataFrame(frame)

    def __len__(self) -> int:
        return int(self._core.n_rows)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        columns = self.columns("all")
        for values in zip(*columns.values()):
            yield {name: value for name, value in zip(columns, values) if value is not None}

    def __contains__(self, metric: object) -> bool:
        return metric in self._core.columns("all")["metric"]

    def __getitem__(self, metric: str) -> Dict[str, npt.NDArray[np.float64]]:
        """The curves of a metric: an array over layers (then heads, path lengths) for each variant.

        With several models the keys are "MODEL VARIANT"; rows of other kinds and origins have theirs behind: of
        `collapse`, "san" is exact, "san f32" what float32 shows; of `paths`, "full embedding, all lengths" is a sum. NaN
        where there is no value.

        >>> import rankfall as rf
        >>> list(rf.collapse("bert-tiny@init", variants="san", samples=1, tokens=8)["log10_residual.composite"])
        ['san', 'san f32', 'san f64']
        """
        if not isinstance(metric, str):
            raise TypeError("a result is indexed by the name of a metric")
        columns = self._core.columns("highest")
        wanted = [i for i, name in enumerate(columns["metric"]) if name == metric]
        if not wanted:
            close = [name for name in self.metrics if metric in name]
            raise KeyError(f"{metric}: not in this result of {self.command}; it has {', '.join(close or self.metrics)}")
        several = [c for c in ("model", "kind", "origin") if len({columns[c][i] for i in wanted}) > 1]
        plain = columns["kind"][wanted[0]]  # the kind that needs no name
        axes = [axis for axis in _AXES if any(columns[axis][i] is not None for i in wanted)]
        cells: Dict[str, Dict[Tuple[int, ...], float]] = {}
        for i in wanted:
            words = [columns["model"][i] if "model" in several else None, columns["variant"][i]]
            words += [columns["origin"][i] if "origin" in several else None]
            words += [columns["kind"][i] if "kind" in several and columns["kind"][i] != plain else None]
            key = " ".join(word for word in words if word) or columns["model"][i] or ""
            key += "".join(f", all {axis}s" for axis in axes if columns[axis][i] is None)
            place = tuple(columns[axis][i] for axis in axes if columns[axis][i] is not None)
            curve = cells.setdefault(key, {})
            if place in curve:
                raise UsageError(f"{metric}: its rows differ by more than {', '.join(_AXES)}; use to_pandas()")
            curve[place] = np.nan if columns["mean"][i] is None else columns["mean"][i]
        return {key: _array(curve) for key, curve in cells.items()}

    def table(self, *, width: Optional[int] = None, plot: bool = False, metrics: Sequence[str] = ()) -> str:
        """The table that the command prints, as text.

        `width` in columns (None: the terminal's), `plot` draws curves as text too, `metrics` chooses what is shown.

        >>> import rankfall as rf
        >>> max(len(line) for line in rf.counts(2, 3).table(width=60).splitlines()) <= 60
        True
        """
        if width is None:
            width = shutil.get_terminal_size((100, 24)).columns
        shown = [metrics] if isinstance(metrics, str) else list(metrics)
        return str(self._core.table(int(width), True, False, bool(plot), shown))

    def save(self, file: Path_, *, rows: str = "highest") -> Path:
        """Writes .json (which `rankfall.read` and every command reads), .csv or .txt, whole or not at all.

        >>> import rankfall as rf
        >>> rf.counts(2, 3).save("counts.csv").read_text().splitlines()[0]
        'variant,metric,mean,length,exact'
        """
        path = Path(file)
        formats = {".json": "json", ".csv": "csv", ".txt": "table"}
        if path.suffix not in formats:
            raise UsageError(f"{path}: its ending names no format; expected .json, .csv or .txt")
        self._core.save(path, formats[path.suffix], _level(rows))
        return path

    def report(self, file: Path_, *, title: str = "") -> Path:
        """Writes one HTML page with charts and tables; it needs no other file and no network.

        >>> import rankfall as rf
        >>> rf.counts(2, 3).report("counts.html", title="Paths of a small network")
        PosixPath('counts.html')
        """
        return report(file, {self.command: self}, title=title)

    def charts(self) -> Dict[str, str]:
        """The charts of the page by name, each a Vega-Lite specification with its data, as JSON.

        >>> import rankfall as rf
        >>> import json
        >>> r = rf.measure("bert-tiny@init", variants="san", samples=1, tokens=8)
        >>> all("vega-lite" in json.loads(chart)["$schema"] for chart in r.charts().values())
        True
        """
        return dict(self._core.charts())

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_from_json, (self._core.json(),))

    def __repr__(self) -> str:
        return self.table().rstrip("\n")

    def _ipython_display_(self) -> None:
        notebook.display(self)


def _from_json(text: str) -> Result:
    return Result(_core.result_from_json(text))


def _array(curve: Mapping[Tuple[int, ...], float]) -> npt.NDArray[np.float64]:
    n_axes = len(next(iter(curve)))
    values = np.full([1 + max(place[a] for place in curve) for a in range(n_axes)], np.nan)
    for place, value in curve.items():
        values[place] = value
    return values


def read(file: Path_) -> Result:
    """Reads a result that was saved as JSON, by Python or by the command.

    >>> import rankfall as rf
    >>> file = rf.counts(2, 3).save("counts.json")
    >>> len(rf.read(file))
    12
    """
    return Result(_core.read_result(Path(file)))


def report(file: Path_, results: Union[Result, Sequence[Result], Mapping[str, Result]], *, title: str = "") -> Path:
    """Writes one HTML page of several results: a list of them, or names with theirs.

    >>> import rankfall as rf
    >>> rf.report("page.html", {"small": rf.counts(2, 3), "large": rf.counts(12, 12)}, title="Counts of paths")
    PosixPath('page.html')
    """
    if isinstance(results, Result):
        results = {results.command: results}
    if not isinstance(results, Mapping):
        listed = list(results) if isinstance(results, (list, tuple)) or hasattr(results, "__iter__") else [results]
        results = {f"{i + 1}-{getattr(r, 'command', '')}": r for i, r in enumerate(listed)}
    for name, result in results.items():
        if not isinstance(result, Result):
            raise InputError(f"results: found {type(result).__name__}, expected rankfall.Result")
    path = Path(file)
    if path.suffix not in (".html", ".htm"):
        raise UsageError(f"{path}: what is written is a page, so its ending must be .html")
    _core.save_page([(name, r._core) for name, r in results.items()], path, title)
    return path
