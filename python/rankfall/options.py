"""Settings of the module."""

from __future__ import annotations

import html
import sys
import time
from typing import Any, Callable, Optional, Union

from .errors import InputError

__all__ = ["options", "reporter"]

Report = Callable[[float, float, str], None]


class Options:
    """Settings for all calls.

    `progress`: True or False turns progress bars on or off; None (the default) shows one in a notebook or a terminal
    for calls that take longer than a second. The argument `progress` of a call comes first.

    A function as `progress=` is called as function(done, total, what), from the thread that made the call. An exception
    that it raises ends the call. Calls of several threads take turns, and a call keeps its turn while the function
    runs: so it cannot call rankfall itself (UsageError), and it must not wait for what another thread holds while that
    thread calls rankfall. Where one thread has `with lock: rf.measure(...)` and another one's progress function has
    `with lock:`, each waits for the other for ever. `lock.acquire(blocking=False)` in the function avoids it.

    >>> import rankfall as rf
    >>> rf.options.progress = False
    >>> rf.options.progress = None
    """

    progress: Optional[bool] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__annotations__:
            raise AttributeError(f"rankfall.options has no {name}; it has {', '.join(self.__annotations__)}")
        super().__setattr__(name, value)


options = Options()


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def _tqdm_bar() -> Any:
    """tqdm's bar: in a notebook the one of its widgets, where these are installed."""
    form = "{l_bar}{bar}| {elapsed} {postfix}"
    if _in_notebook():
        import ipywidgets  # noqa: F401  (without it tqdm writes text to the error stream, which notebooks show in red)
        from tqdm.notebook import tqdm as widget

        return widget(total=100, leave=False, bar_format=form)
    from tqdm import tqdm

    return tqdm(total=100, leave=False, bar_format=form)


class _HtmlBar:
    """A bar in a notebook's output that is empty again at the end."""

    def __init__(self) -> None:
        from IPython.display import HTML, display

        self._html = HTML
        self._place = display(HTML(""), display_id=True)

    def show(self, share: float, what: str) -> None:
        self._place.update(self._html(f"<progress value='{share:.3f}'></progress> {html.escape(what)}"))

    def close(self) -> None:
        self._place.update(self._html(""))


class _TextBar:
    """A line on the error stream."""

    def show(self, share: float, what: str) -> None:
        print(f"\r{100 * share:3.0f}% {what[:60]:60}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print("\r" + " " * 70 + "\r", end="", file=sys.stderr, flush=True)


class _Tqdm:
    def __init__(self) -> None:
        self._bar = _tqdm_bar()

    def show(self, share: float, what: str) -> None:
        self._bar.n = round(100 * share, 1)
        self._bar.set_postfix_str(what, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


class Bar:
    """A progress bar that appears after a second: tqdm's where that is installed."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._bar: Any = None

    def __call__(self, done: float, total: float, what: str) -> None:
        if self._bar is None:
            if time.monotonic() - self._begin < 1:
                return
            for kind in (_Tqdm, _HtmlBar) if _in_notebook() else (_Tqdm, _TextBar):
                try:
                    self._bar = kind()
                    break
                except Exception:  # bars are a convenience: whatever is wrong with one must not end a computation
                    continue
            else:
                self._bar = _TextBar()
        self._bar.show(min(1.0, max(0.0, done / total)) if total > 0 else 0.0, what)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def reporter(progress: Union[bool, Report, None]) -> Union[Bar, Report, None]:
    """Who is told about progress: nobody, a bar, or the caller's own function (done, total, what)."""
    if callable(progress):
        return progress
    if progress is None:
        progress = options.progress
    if progress is not None and not isinstance(progress, bool):
        raise InputError(f"progress: found {progress!r}, expected True, False or a function of (done, total, what)")
    if progress is None:
        progress = _in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())
    return Bar() if progress else None
