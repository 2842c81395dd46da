"""Made by python/tools/make_stubs.py from the table of studies; do not edit."""

from os import PathLike
from typing import Any, Callable, Sequence, Union

from .model import Model
from .result import Result

_Path = Union[str, PathLike[str]]
_Name = Union[str, PathLike[str], Model]
_Progress = Union[bool, Callable[[float, float, str], None], None]

__all__ = [
    "measure",
    "collapse",
    "lowrank",
    "paths",
    "counts",
    "effectiveness",
    "theory",
    "bounds",
    "audit",
    "parity",
    "tokens",
    "bench",
    "doctor",
]

def measure(
    *model: Union[_Name, int, Sequence[_Name]],
    variants: Union[str, Sequence[str], None] = ...,
    without: Union[str, Sequence[str], None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    as_published: Union[bool, None] = ...,
    metrics: Union[str, Sequence[str], None] = ...,
    residual: Union[str, None] = ...,
    seeds: Union[int, None] = ...,
    theory: Union[bool, None] = ...,
    ablate: Union[bool, None] = ...,
    mean: Union[str, None] = ...,
    interval: Union[bool, None] = ...,
    precision: Union[str, None] = ...,
    compare_published: Union[bool, None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Measure how alike tokens become, layer by layer (Figure 2)."""
    ...

def collapse(
    *model: Union[_Name, int, Sequence[_Name]],
    variants: Union[str, Sequence[str], None] = ...,
    without: Union[str, Sequence[str], None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    as_published: Union[bool, None] = ...,
    depth: Union[int, None] = ...,
    mean: Union[str, None] = ...,
    theory: Union[bool, None] = ...,
    no_floats: Union[bool, None] = ...,
    error_draws: Union[int, None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Track the residual exactly at any depth, far below rounding."""
    ...

def lowrank(
    *model: Union[_Name, int, Sequence[_Name]],
    only: Union[str, Sequence[str], None] = ...,
    eps: Union[Union[int, float], Sequence[Union[int, float]], None] = ...,
    lengths: Union[Union[str, int, float], Sequence[Union[str, int, float]], None] = ...,
    block: Union[int, None] = ...,
    sketch_eps: Union[int, float, None] = ...,
    draws: Union[int, None] = ...,
    variants: Union[str, Sequence[str], None] = ...,
    without: Union[str, Sequence[str], None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Measure the rank of attention matrices and what cheaper attention changes."""
    ...

def paths(
    *model: Union[_Name, int, Sequence[_Name]],
    variants: Union[str, Sequence[str], None] = ...,
    without: Union[str, Sequence[str], None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    lengths: Union[bool, None] = ...,
    origins: Union[str, None] = ...,
    interference: Union[bool, None] = ...,
    heads: Union[bool, None] = ...,
    through: Union[int, None] = ...,
    sample: Union[int, None] = ...,
    as_published: Union[bool, None] = ...,
    rerun: Union[bool, None] = ...,
    top: Union[int, None] = ...,
    beam: Union[int, None] = ...,
    list: Union[bool, None] = ...,
    to: Union[int, None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Decompose a network into paths, by length, head or token."""
    ...

def counts(
    *model: Union[_Name, int, Sequence[_Name]],
    progress: _Progress = ...,
) -> Result:
    """Count the paths of each length exactly (Figure 5)."""
    ...

def effectiveness(
    *dir: Union[_Name, int, Sequence[_Name]],
    paths: Union[int, Sequence[int], None] = ...,
    draws: Union[int, None] = ...,
    samples: Union[int, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    progress: _Progress = ...,
) -> Result:
    """Measure how well paths of each length alone solve a task (Figure 4)."""
    ...

def theory(
    *model: Union[_Name, int, Sequence[_Name]],
    variants: Union[str, Sequence[str], None] = ...,
    without: Union[str, Sequence[str], None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    as_published: Union[bool, None] = ...,
    compare: Union[bool, None] = ...,
    seeds: Union[int, None] = ...,
    metrics: Union[str, Sequence[str], None] = ...,
    depth: Union[int, None] = ...,
    at: Union[str, None] = ...,
    method: Union[str, None] = ...,
    draws: Union[int, None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Predict what a network does to its tokens, from its description alone."""
    ...

def bounds(
    *model: Union[_Name, int, Sequence[_Name]],
    variants: Union[str, Sequence[str], None] = ...,
    without: Union[str, Sequence[str], None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    as_published: Union[bool, None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Check which theorems apply to a network, and how tight they are."""
    ...

def audit(
    *,
    claims: Union[Union[str, int, float], Sequence[Union[str, int, float]], None] = ...,
    trials: Union[int, None] = ...,
    seconds: Union[int, float, None] = ...,
    models: Union[str, Sequence[str], None] = ...,
    witnesses: Union[_Path, None] = ...,
    check: Union[_Path, Sequence[_Path], None] = ...,
    list: Union[bool, None] = ...,
    seed: Union[int, None] = ...,
    threads: Union[int, None] = ...,
    progress: _Progress = ...,
) -> Result:
    """Check every claim of the theory: statement, verdict, evidence."""
    ...

def parity(
    *model: Union[_Name, int, Sequence[_Name]],
    reference: Union[_Path, None] = ...,
    text: Union[_Path, Sequence[str], None] = ...,
    ids: Any = ...,
    features: Any = ...,
    hidden: Any = ...,
    pixels: Any = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    pad: Union[bool, None] = ...,
    special_tokens: Union[str, None] = ...,
    tokenizer: Union[_Path, None] = ...,
    ignore_unused: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    random_tokens: Union[str, None] = ...,
    threads: Union[int, None] = ...,
    fail_if: Union[str, Sequence[str], None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Compare hidden states and attention with another implementation's."""
    ...

def tokens(
    *model: Union[_Name, int, Sequence[_Name]],
    text: Union[_Path, Sequence[str], None] = ...,
    paragraphs: Union[bool, None] = ...,
    field: Union[str, None] = ...,
    special_tokens: Union[str, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    mask: Any = ...,
    progress: _Progress = ...,
) -> Result:
    """Show how a text is tokenised."""
    ...

def bench(
    *model: Union[_Name, int, Sequence[_Name]],
    layers: Union[bool, None] = ...,
    samples: Union[int, None] = ...,
    tokens: Union[int, None] = ...,
    rounds: Union[int, None] = ...,
    attention: Union[str, Sequence[str], None] = ...,
    lengths: Union[Union[str, int, float], Sequence[Union[str, int, float]], None] = ...,
    dim: Union[int, None] = ...,
    heads: Union[int, None] = ...,
    precision: Union[str, None] = ...,
    threads: Union[int, None] = ...,
    progress: _Progress = ...,
) -> Result:
    """Measure speed as a share of this machine's matrix-product peak."""
    ...

def doctor(
    *,
    threads: Union[int, None] = ...,
    progress: _Progress = ...,
) -> Result:
    """Check this machine and build, and whether results are reproducible."""
    ...
