"""What results show in a notebook: their answer, and an interactive chart that needs no network."""

from __future__ import annotations

import html
import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Union

if TYPE_CHECKING:
    from .result import Result

__all__ = ["Chart", "display"]

_MOST = 4  # charts in one output

# The script is sent once per kernel: later outputs of the notebook use it. A cell that had it and is run again gets it again.
_sent = False
_sent_in: Any = None


def _script() -> str:
    try:
        return (Path(__file__).parent / "notebook.js").read_text(encoding="utf-8")
    except OSError:
        return ""  # built without node: there are no charts


def _embedded(spec: Any) -> str:
    # Inside <script> neither may end it nor begin a comment.
    return json.dumps(spec).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def chart_html(spec: Any, *, with_script: bool) -> str:
    """An element with the chart; with the script that draws it, where the page has none yet."""
    name = f"rankfall-{uuid.uuid4().hex}"
    waiting_text = "" if with_script else "The chart needs the output of the first rankfall chart above: run all cells."
    parts = [f'<div id="{name}" style="width:100%;max-width:720px">{waiting_text}</div>']
    waiting = f'{{id:"{name}",spec:{_embedded(spec)}}}'
    parts.append(
        f"<script>(window.rankfallQueue=window.rankfallQueue||[]).push({waiting});"
        "if(window.rankfallDraw)window.rankfallDraw();</script>"
    )
    if with_script:
        parts.append(f"<script>{_script()}</script>")
    return "".join(parts)


def _cell() -> Any:
    """What names the cell that is running, where the notebook tells."""
    try:
        from IPython import get_ipython

        return get_ipython().get_parent()["metadata"].get("cellId")
    except Exception:
        return None


def _first_time() -> bool:
    global _sent, _sent_in
    cell = _cell()
    first = not _sent or (cell is not None and cell == _sent_in)
    if first:
        _sent, _sent_in = True, cell
    return first


class Chart:
    """A Vega-Lite chart: drawn in a notebook, saved as one HTML file, or as its specification."""

    def __init__(self, spec: Dict[str, Any], title: str = "") -> None:
        self.spec = spec
        self.title = title

    def save(self, file: Union[str, "Path"]) -> Path:
        """Writes .html, which needs no network, or .vl.json."""
        path = Path(file)
        if path.suffix == ".json":
            path.write_text(json.dumps(self.spec), encoding="utf-8")
        else:
            body = chart_html(self.spec, with_script=True)
            page = f'<!doctype html><meta charset="utf-8"><title>{html.escape(self.title or "rankfall")}</title>{body}'
            path.write_text(page, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return chart_html(self.spec, with_script=_first_time())

    def __repr__(self) -> str:
        return f"<rankfall chart {self.title!r}: show it in a notebook, or save('chart.html')>"


def _charts(result: Result) -> List[Any]:
    """The panels of the first figure: one, or one per model."""
    try:
        charts = result.charts()
        figure = next(iter(charts), "").rsplit("-", 1)[0]
        return [json.loads(text) for name, text in charts.items() if name.rsplit("-", 1)[0] == figure][:_MOST]
    except Exception:  # a result that a page cannot show still has its table
        return []


def html_of(result: Result, *, with_script: bool) -> str:
    """The answer, the first figure, and the table to unfold."""
    sentences = "".join(f"<p style='margin:0.3em 0'>{html.escape(a)}</p>" for a in result.answers)
    notes = "".join(f"<p style='margin:0.3em 0;opacity:0.7'>Note: {html.escape(n)}</p>" for n in result.notes)
    charts = _charts(result)
    chart = ""
    for i, spec in enumerate(charts if _script() else []):
        chart += chart_html(spec, with_script=with_script and i == 0)
    table = f"<details><summary>Table</summary><pre>{html.escape(result.table(width=100))}</pre></details>"
    return f"<div>{sentences}{notes}{chart}{table}</div>"


def display(result: Result) -> None:
    """Shows a result in a notebook; in IPython's terminal, its table."""
    from IPython import get_ipython
    from IPython.display import display as show

    shell = get_ipython()
    if shell is None or type(shell).__name__ == "TerminalInteractiveShell":
        print(repr(result))
        return
    show({"text/html": html_of(result, with_script=_first_time()), "text/plain": repr(result)}, raw=True)
