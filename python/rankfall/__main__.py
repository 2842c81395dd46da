"""`python -m rankfall` is the command."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def command() -> Path:
    """The program: in an installed package beside this file, in a build tree where it was built."""
    here = Path(__file__).parent
    # Links of a build tree lead to the sources, so the place of the compiled module counts.
    from . import _core

    built = Path(_core.__file__).parent
    for path in (here / "bin" / "rankfall", built / "bin" / "rankfall", built.parent.parent / "cli" / "rankfall"):
        if path.is_file():
            return path
    sys.exit(f"rankfall: the program is missing from {here}; install the package again")


def main() -> None:
    program = str(command())
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
