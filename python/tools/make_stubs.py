#!/usr/bin/env python3
"""Writes python/rankfall/studies.pyi from the table of studies; with --check, fails where it would change."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Dict

from rankfall._calls import TABLE

HEAD = '''"""Made by python/tools/make_stubs.py from the table of studies; do not edit."""

from os import PathLike
from typing import Any, Callable, Sequence, Union

from .model import Model
from .result import Result

_Path = Union[str, PathLike[str]]
_Name = Union[str, PathLike[str], Model]
_Progress = Union[bool, Callable[[float, float, str], None], None]

'''

IN_MEMORY = {"text": "Union[_Path, Sequence[str], None]", "pixels": "Any", "ids": "Any", "features": "Any", "hidden": "Any"}


def kind(argument: Dict[str, Any]) -> str:
    if argument["name"] in IN_MEMORY:
        return IN_MEMORY[argument["name"]]
    if not argument["value"]:
        return "bool | None"
    value = argument["value"]
    whole = value in ("N", "TOKEN")
    if value in ("FILE", "DIR"):
        one = "_Path"
    elif whole or value in ("SECONDS", "EPS", "EPS,...", "X"):
        one = "Union[int, float]" if not whole else "int"
    else:
        one = "Union[str, int, float]" if "," in value or value in ("LIST", "NUMBERS") else "str"
    several = argument["several"] or argument["joined"] or "," in value or value in ("LIST", "NUMBERS")
    return f"Union[{one}, Sequence[{one}], None]" if several else f"{one} | None"


def stub() -> str:
    out = HEAD + "__all__ = [\n" + "".join(f'    "{name}",\n' for name in TABLE) + "]\n"
    for name, function in TABLE.items():
        lines = []
        positional = [a for a in function["arguments"] if not a["option"]]
        if positional:
            lines.append(f"*{positional[0]['name']}: Union[_Name, int, Sequence[_Name]],")
        else:
            lines.append("*,")
        keywords = [a for a in function["arguments"] if a["option"]]
        for argument in keywords:
            lines.append(f"{argument['name']}: {kind(argument)} = ...,")
        if any(a["name"] == "text" for a in keywords):
            lines.append("mask: Any = ...,")
        lines.append("progress: _Progress = ...,")
        body = "".join(f"    {line}\n" for line in lines)
        out += f'\ndef {name}(\n{body}) -> Result:\n    """{function["summary"]}."""\n    ...\n'
    return out.replace("bool | None", "Union[bool, None]").replace("int | None", "Union[int, None]").replace(
        "str | None", "Union[str, None]"
    ).replace("_Path | None", "Union[_Path, None]").replace("] | None", ", None]")


def main() -> None:
    file = Path(__file__).resolve().parents[1] / "rankfall" / "studies.pyi"
    text = stub()
    if "--check" in sys.argv:
        if not file.exists() or file.read_text() != text:
            sys.exit(f"{file}: not what the studies are; run python/tools/make_stubs.py")
        return
    file.write_text(text)


if __name__ == "__main__":
    main()
