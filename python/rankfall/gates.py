"""Conditions on what a monitor measures."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Sequence

from .errors import UsageError

__all__ = ["Gate"]

_OPERATORS: Dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Gate:
    """A condition on a metric's mean over samples, such as `relative_residual.composite@6 < 1e-3`.

    `layer` may count from the end (-1 or `last`: the last one); without a layer the condition is on every layer.

    >>> import rankfall as rf
    >>> gate = rf.Gate.parse("cosine.mean@last > 0.99")
    >>> gate
    Gate(metric='cosine.mean', layer=-1, sign='>', value=0.99)
    >>> gate.broken([{"metric": "cosine.mean", "layer": 6, "mean": 0.5}]) is None
    True
    """

    metric: str
    layer: Optional[int]
    sign: str
    value: float

    def __post_init__(self) -> None:
        if self.sign not in _OPERATORS:
            raise UsageError(f"gate: sign '{self.sign}', expected one of {', '.join(_OPERATORS)}")

    @staticmethod
    def parse(text: str) -> Gate:
        """Reads METRIC[@LAYER] < VALUE, with <, <=, > or >=."""
        if not isinstance(text, str):
            raise UsageError(f"gate: found {text!r}, expected a text such as 'cosine.mean@last > 0.99'")
        found = re.fullmatch(r"\s*([\w.]+)\s*(?:@\s*(-?\d+|last)\s*)?(<=|>=|<|>)\s*(\S+)\s*", text)
        try:
            value = float(found[4]) if found else math.nan
        except ValueError:
            value = math.nan
        if not found or math.isnan(value):
            raise UsageError(f"gate '{text}': expected METRIC[@LAYER] < VALUE, or >")
        layer = None if found[2] is None else -1 if found[2] == "last" else int(found[2])
        return Gate(found[1], layer, found[3], value)

    def broken(self, records: Sequence[Dict[str, Any]]) -> Optional[Dict[str, Any]]:
        """The first of a monitor's records for which the condition holds; None where it holds for none."""
        last = max((r["layer"] for r in records if r["metric"] == self.metric), default=0)
        layer = self.layer if self.layer is None or self.layer >= 0 else last + 1 + self.layer
        for record in records:
            if record["metric"] != self.metric or (layer is not None and record["layer"] != layer):
                continue
            if record["mean"] is not None and _OPERATORS[self.sign](record["mean"], self.value):
                return record
        return None
