"""rankfall: how fast do token representations become identical with depth, and what prevents it?

    import rankfall as rf
    rf.measure("bert-base@init", variants=["full", "san"])

Every study of the command is a function here (`measure`, `collapse`, `paths`, `bounds` ...), with the same options and
the same numbers. `load` opens a model, `metrics` takes any array, `Monitor` watches a PyTorch module while it trains.
"""

from __future__ import annotations

import os
from typing import Any, Dict, List

from . import _core
from .arrays import (
    attention_entropy,
    block_influence,
    cosine,
    effective_rank,
    logit_range,
    max_logit,
    metrics,
    relative_residual,
    residual,
    stable_rank,
)
from .errors import ClaimError, InputError, NumericalError, RankfallError, UsageError
from .model import Branch, Forward, Model, Network, SubLayer, load
from .model import whole as _whole
from .gates import Gate
from .monitor import Monitor
from .options import options
from .result import Result, read, report
from .trainer import TrainerCallback
from . import studies
from .studies import *

__version__: str = _core.version


def presets() -> List[str]:
    """Names that take `@init`: the released models at random initialisation.

    >>> "bert-base" in presets()
    True
    """
    return list(_core.presets())


def families() -> List[str]:
    """The model families that are supported, by `model_type` of config.json.

    >>> "gpt2" in families()
    True
    """
    return list(_core.families())


def attention_kinds() -> List[str]:
    """Kinds of attention for `attention=` and `Model.with_attention`, with their keys.

    >>> any(kind.startswith("linformer") for kind in attention_kinds())
    True
    """
    return list(_core.attention_kinds())


def metric_info(name: str = "") -> Any:
    """Words, formula and TeX of a metric; without a name, of all of them.

    >>> metric_info("cosine.mean")["words"]
    'mean cosine between two tokens'
    >>> metric_info("rank.stable")["formula"]
    '‖X‖_F² / ‖X‖₂²'
    """
    if not name:
        return list(_core.metric_infos())
    info: Dict[str, Any] = _core.metric_info(name)
    if info is None:
        raise UsageError(f"unknown metric '{name}'; metric_info() lists them")
    return info


def set_threads(n: int) -> None:
    """Sets the number of threads, 1 to 4096; results do not depend on it.

    >>> before = threads()
    >>> set_threads(1)
    >>> threads()
    1
    >>> set_threads(before)
    """
    _core.set_threads(_whole(n, "threads", 1, 4096))


def threads() -> int:
    """The number of threads in use: by default, the cores that this process may run on.

    >>> threads() >= 1
    True
    """
    return int(_core.threads())


def _warn_of_poor_blas() -> None:
    name, better = _core.blas_kernel()
    if better:
        import warnings

        warnings.warn(
            f"OpenBLAS runs its kernel {name}, and this CPU would be several times faster with {better}. The kernel is"
            f" fixed when OpenBLAS is loaded, here or by NumPy or torch before: set OPENBLAS_CORETYPE={better} in the"
            " environment before Python starts",
            RuntimeWarning,
            stacklevel=3,
        )


_warn_of_poor_blas()

# A forked process has none of the library's threads, and would wait for them for ever.
os.register_at_fork(after_in_child=lambda: _core.set_threads(1))

__all__ = [
    "Branch",
    "ClaimError",
    "Forward",
    "Gate",
    "InputError",
    "Model",
    "Monitor",
    "Network",
    "NumericalError",
    "RankfallError",
    "Result",
    "SubLayer",
    "TrainerCallback",
    "UsageError",
    "attention_entropy",
    "attention_kinds",
    "block_influence",
    "cosine",
    "effective_rank",
    "families",
    "load",
    "logit_range",
    "max_logit",
    "metric_info",
    "metrics",
    "options",
    "presets",
    "read",
    "relative_residual",
    "report",
    "residual",
    "set_threads",
    "stable_rank",
    "threads",
]
__all__ += studies.__all__
