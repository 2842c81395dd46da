"""What the tests share."""

from __future__ import annotations

import os
import subprocess
import warnings
from pathlib import Path
from typing import List

import pytest

# The machine's choice of BLAS kernel is not what is tested here.
warnings.filterwarnings("ignore", message="OpenBLAS runs its kernel")

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"


@pytest.fixture
def families() -> Path:
    return DATA / "families"


def run_command(words: List[str], cwd: Path) -> subprocess.CompletedProcess:
    """The command, with the BLAS kernel that this process has."""
    from rankfall import _core

    environment = dict(os.environ, OPENBLAS_CORETYPE=_core.blas_kernel()[0])
    program = os.environ["RANKFALL_COMMAND_UNDER_TEST"]
    return subprocess.run([program, *words], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
