"""The compiled module; what is public stands in the other files."""

from typing import Any

version: str

def __getattr__(name: str) -> Any: ...
