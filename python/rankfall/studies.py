"""The studies, one function each. `studies.pyi` has them for type checkers: python/tools/make_stubs.py writes it."""

from __future__ import annotations

from typing import List

from ._calls import TABLE, make

__all__: List[str] = list(TABLE)

for _name, _function in TABLE.items():
    globals()[_name] = make(_function)
