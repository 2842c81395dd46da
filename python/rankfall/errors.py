"""Exceptions by kind, as the command's exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from .result import Result

__all__ = ["ClaimError", "InputError", "NumericalError", "RankfallError", "UsageError"]


class RankfallError(Exception):
    """What every error of rankfall is."""


class UsageError(RankfallError, ValueError):
    """An impossible request: an argument, a specification, a size. The command exits with 2."""


class InputError(RankfallError, ValueError):
    """A file or an array that cannot be read or is not what it should be. The command exits with 3."""


class NumericalError(RankfallError, ArithmeticError):
    """NaN or infinity in a computation, or not enough memory. The command exits with 4."""


class ClaimError(RankfallError):
    """A proved bound or a condition (`fail_if`, a monitor's `gate`) did not hold. The command exits with 5.

    `result` is what was computed; None where there is none.
    """

    result: Optional[Result] = None
