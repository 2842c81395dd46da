"""Exceptions by kind, as the command's exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .result import Result

__all__ = ["ClaimError", "InputError", "NumericalError", "RankfallError", "UsageError"]


class RankfallError(Exception):
    """The base class of all errors of rankfall.

    >>> import rankfall as rf
    >>> try:
    ...     rf.load("bert-bas@init")
    ... except rf.RankfallError as error:
    ...     print(type(error).__name__)
    UsageError
    """


class UsageError(RankfallError, ValueError):
    """An impossible request: an argument, a specification, a size. It is a ValueError. The command exits with 2.

    >>> import rankfall as rf
    >>> rf.metrics([[1.0, 2.0]], "rank.stabel")
    Traceback (most recent call last):
    rankfall.errors.UsageError: unknown metric 'rank.stabel'...
    """


class InputError(RankfallError, ValueError):
    """A file or an array that cannot be read or is not what it should be. It is a ValueError. The command exits with 3.

    >>> import rankfall as rf
    >>> rf.read("missing.json")
    Traceback (most recent call last):
    rankfall.errors.InputError: missing.json: no such file
    """


class NumericalError(RankfallError, ArithmeticError):
    """NaN or infinity in a computation, or not enough memory. It is an ArithmeticError. The command exits with 4.

    >>> import rankfall as rf
    >>> rf.metrics([[1.0, float("nan")]])
    Traceback (most recent call last):
    rankfall.errors.NumericalError: ...nan in row 0, column 1...
    """


class ClaimError(RankfallError):
    """A proved bound or a condition (`fail_if`, a monitor's `gate`) did not hold. The command exits with 5.

    `result` is what was computed; None where there is none.

    >>> import rankfall as rf
    >>> try:
    ...     rf.measure("bert-tiny@init", samples=1, tokens=8, variants="full", fail_if="cosine.mean@last > -1")
    ... except rf.ClaimError as error:
    ...     print("cosine.mean" in error.result)
    True
    """

    result: Optional[Result] = None
