"""Metrics of arrays: hidden states and attention matrices that any program computed."""

from __future__ import annotations

import math
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import InputError, UsageError

__all__ = [
    "attention_entropy",
    "block_influence",
    "cosine",
    "effective_rank",
    "logit_range",
    "max_logit",
    "metrics",
    "relative_residual",
    "residual",
    "stable_rank",
]

# One value of a single matrix, or an array of them with the leading axes of what was given.
Values = Union[float, npt.NDArray[np.float64]]
FloatArray = npt.NDArray[Any]


def _torch_array(x: Any) -> Any:
    """A torch tensor as a NumPy array: on the CPU the same memory, elsewhere one copy to the host."""
    x = x.detach()
    if x.device.type != "cpu":
        x = x.cpu()
    if str(x.dtype) == "torch.bfloat16":
        x = x.float()
    if x.is_sparse or x.is_quantized:
        raise InputError(f"a {'sparse' if x.is_sparse else 'quantised'} tensor, expected a dense one")
    return x.resolve_conj().resolve_neg().numpy()


def _numpy(x: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        return _torch_array(x)
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x)
        except (TypeError, ValueError, RuntimeError, BufferError) as error:
            raise InputError(f"{type(x).__name__}: cannot be read through DLPack: {error}") from None
    try:
        array = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise InputError(f"{type(x).__name__}: cannot be read as an array: {error}") from None
    if array.dtype == object and array.ndim == 0:  # NumPy wraps what it cannot read
        reason = f"numbers of type {array.dtype}"
        try:
            memoryview(x)
        except ValueError as error:  # a closed map, a released view
            reason = str(error)
        except TypeError:
            pass
        raise InputError(f"{type(x).__name__}: cannot be read as an array: {reason}")
    return array


def as_floats(x: Any, name: str, least_axes: int = 2) -> FloatArray:
    """A C-contiguous float32 or float64 array: the same memory where that is possible."""
    array = _numpy(x)
    if isinstance(array, np.ma.MaskedArray):
        raise InputError(f"{name}: a masked array; give the values, and mask= for padding")
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(f"{name}: numbers of type {array.dtype}, expected float16, bfloat16, float32 or float64")
    if array.ndim < least_axes:
        raise InputError(f"{name}: shape {array.shape}, expected at least {least_axes} axes: (tokens, channels)")
    wanted = np.float64 if array.dtype.itemsize == 8 else np.float32
    return np.ascontiguousarray(array, dtype=wanted)


def as_mask(mask: Any, shape: Tuple[int, ...], name: str = "mask") -> Optional[npt.NDArray[np.uint8]]:
    """Masks of samples as rows of bytes. `shape` is that of the samples, with the number of tokens behind."""
    if mask is None:
        return None
    array = _numpy(mask)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name}: numbers of type {array.dtype}, expected true and false, or 0 and 1")
    if array.ndim == 1 and math.prod(shape):
        array = np.broadcast_to(array, (math.prod(shape[:-1]), array.shape[0]))
    if array.ndim > 2 and array.shape[:-1] == shape[:-1]:
        array = array.reshape(math.prod(shape[:-1]), array.shape[-1])
    n_masks = math.prod(shape[:-1])
    if array.ndim != 2 or array.shape != (n_masks, shape[-1]):
        raise InputError(f"{name}: shape {np.shape(mask)}, expected {shape} or ({shape[-1]},)")
    return np.ascontiguousarray(array != 0, dtype=np.uint8)


def _names(names: Union[str, Sequence[str], None]) -> List[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else [str(name) for name in names]


def _table(names: Sequence[str], values: npt.NDArray[np.float64], shape: Tuple[int, ...]) -> Dict[str, Values]:
    if not shape:
        return {name: float(values[0, i]) for i, name in enumerate(names)}
    return {name: np.ascontiguousarray(values[:, i]).reshape(shape) for i, name in enumerate(names)}


def metrics(
    x: Any = None,
    metrics: Union[str, Sequence[str], None] = None,
    *,
    mask: Any = None,
    attention: Any = None,
) -> Dict[str, Values]:
    """Metrics of hidden states and attention matrices, by name: those of `rankfall.measure`, without a model.

    `x` has the axes (tokens, channels), or (samples, tokens, channels), or more in front: one value per sample, in an
    array with the axes in front; a float for a single state. `attention` has (queries, keys), (heads, queries, keys), or
    more. Arrays of NumPy and torch, and whatever has the buffer protocol or DLPack: C-contiguous float32 and float64 in
    memory are read where they are; float16 and bfloat16 are widened, other layouts copied. A tensor on a GPU is copied
    to the host once.

    `metrics` are names or groups ("rank", "all"), as `rankfall metrics` lists them; None: the default ones.
    `mask` has True (or 1) for tokens that count, False for padding: (tokens,) or (samples, tokens).

    `rankfall.metric_info(name)["formula"]` is the formula of each; the relative residual is ‖X − 1·mean‖ / ‖X‖, mean
    the mean token: 0 when all tokens are equal.

    >>> import numpy as np
    >>> x = np.eye(4)
    >>> round(metrics(x)["relative_residual.frobenius"], 4)
    0.866
    >>> metrics(np.ones((2, 4, 3)))["cosine.mean"].round(12)
    array([1., 1.])
    """
    if x is None and attention is None:
        raise UsageError("metrics: give states, or attention=, or both")
    asked = _names(metrics)
    of_states, of_attention = asked, asked
    if x is not None and attention is not None and asked:
        known = set(_core.attention_metric_names()) | {"attention"}
        of_attention = [name for name in asked if name in known or name == "all"]
        of_states = [name for name in asked if name not in known]
    out: Dict[str, Values] = {}
    if x is not None and (of_states or not asked):
        states = as_floats(x, "x")
        masks = as_mask(mask, states.shape[:-1])
        names, values = _core.state_metrics(states, masks, of_states)
        out.update(_table(names, values, states.shape[:-2]))
    if attention is not None and (of_attention or not asked):
        p = as_floats(attention, "attention")
        in_front = p.shape[:-3] + p.shape[-1:] if p.ndim > 2 else p.shape[-1:]
        names, values = _core.attention_metrics(p, as_mask(mask, in_front), of_attention)
        out.update(_table(names, values, p.shape[:-2]))
    return out


def _one(x: Any, name: str, mask: Any) -> Values:
    return metrics(x, [name], mask=mask)[name]


def residual(x: Any, norm: str = "composite", *, mask: Any = None) -> Values:
    """The residual ‖X − 1·mean‖, mean the mean token; `norm`: composite, one, inf, frobenius or spectral.

    The composite norm of R is sqrt(‖R‖₁ ‖R‖_inf), the paper's: the largest column sum of |R| times the largest row sum.

    >>> round(residual([[1.0, 0.0], [0.0, 1.0]], norm="frobenius"), 4)
    1.0
    """
    return _one(x, f"residual.{norm}", mask)


def relative_residual(x: Any, norm: str = "composite", *, mask: Any = None) -> Values:
    """The relative residual ‖X − 1·mean‖ / ‖X‖, mean the mean token: 0 when all tokens are equal.

    `norm`: composite, one, inf, frobenius or spectral, as for `residual`.

    >>> relative_residual([[1.0, 2.0], [1.0, 2.0]])
    0.0
    """
    return _one(x, f"relative_residual.{norm}", mask)


def cosine(x: Any, *, mask: Any = None) -> Values:
    """The mean cosine between two different tokens, mean over i≠j of xᵢ·xⱼ / (‖xᵢ‖ ‖xⱼ‖): 1 when they are parallel.

    >>> round(cosine([[1.0, 0.0], [0.0, 1.0]]), 4)
    0.0
    """
    return _one(x, "cosine.mean", mask)


def effective_rank(x: Any, *, mask: Any = None) -> Values:
    """The effective rank (Roy and Vetterli): exp of the entropy of σᵢ / Σσ, σ the singular values of X.

    It is 1 for a matrix of rank 1, and n where n singular values are equal and the others 0.

    >>> import numpy as np
    >>> round(effective_rank(np.eye(3)), 4)
    3.0
    """
    return _one(x, "rank.effective", mask)


def stable_rank(x: Any, *, mask: Any = None) -> Values:
    """The stable rank ‖X‖_F² / ‖X‖₂²: 1 for a matrix of rank 1, n where n singular values are equal and the others 0.

    >>> import numpy as np
    >>> round(stable_rank(np.eye(3)), 4)
    3.0
    """
    return _one(x, "rank.stable", mask)


def block_influence(before: Any, after: Any, *, mask: Any = None) -> Values:
    """The influence of a block: 1 − mean over i of xᵢ·yᵢ / (‖xᵢ‖ ‖yᵢ‖), x entering the block, y leaving it.

    It is 0 for a block that turns no token.

    >>> block_influence([[1.0, 0.0]], [[2.0, 0.0]])
    0.0
    """
    a, b = as_floats(before, "before"), as_floats(after, "after")
    if a.shape != b.shape:
        raise InputError(f"before: shape {a.shape}, after: shape {b.shape}, expected the same")
    if a.dtype != b.dtype:
        a, b = a.astype(np.float64), b.astype(np.float64)
    values = np.array(_core.block_influence(a, b, as_mask(mask, a.shape[:-1])))
    return float(values[0]) if a.ndim == 2 else values.reshape(a.shape[:-2])


def attention_entropy(p: Any, *, mask: Any = None) -> Values:
    """The entropy of attention in nats, mean over rows of −Σ P log P: 0 for a permutation, log n for uniform attention.

    `p` has the axes (queries, keys), with samples and heads in front.

    >>> import numpy as np
    >>> bool(np.isclose(attention_entropy(np.full((4, 4), 0.25)), np.log(4)))
    True
    """
    return metrics(attention=p, metrics="attention.entropy", mask=mask)["attention.entropy"]


def _logits(q: Any, k: Any, scale: Optional[float], causal: bool, mask: Any, which: int) -> Values:
    queries, keys = as_floats(q, "q"), as_floats(k, "k")
    if queries.ndim != keys.ndim or queries.shape[:-2] != keys.shape[:-2] or queries.shape[-1] != keys.shape[-1]:
        raise InputError(f"q: shape {queries.shape}, k: shape {keys.shape}, expected the same but for the tokens")
    if queries.dtype != keys.dtype:
        queries, keys = queries.astype(np.float64), keys.astype(np.float64)
    if scale is None:
        scale = 1.0 / math.sqrt(max(1, queries.shape[-1]))
    try:
        scale = float(scale)
    except (TypeError, ValueError):
        raise InputError(f"scale: found {scale!r}, expected a number") from None
    in_front = keys.shape[:-3] + keys.shape[-2:-1] if keys.ndim > 2 else keys.shape[-2:-1]
    both = _core.logit_measures(queries, keys, scale, bool(causal), as_mask(mask, in_front))
    values = np.array(both[which])
    return float(values[0]) if queries.ndim == 2 else values.reshape(queries.shape[:-2])


def max_logit(q: Any, k: Any, *, scale: Optional[float] = None, causal: bool = False, mask: Any = None) -> Values:
    """The largest logit, max over i and seen j of zᵢⱼ = scale * qᵢ·kⱼ; `scale` None: 1 / sqrt(channels).

    `q` and `k` have the axes (tokens, channels), with samples and heads in front. `causal`: query i sees keys 0 to i.
    `mask`: True for keys that count.

    >>> max_logit([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]], scale=1)
    2.0
    """
    return _logits(q, k, scale, causal, mask, 0)


def logit_range(q: Any, k: Any, *, scale: Optional[float] = None, causal: bool = False, mask: Any = None) -> Values:
    """The largest range of a query's logits, max over i of (max − min over seen j of zᵢⱼ), z as for `max_logit`.

    Theorem 2.2 needs at most 2.08.

    >>> logit_range([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]], scale=1)
    2.0
    """
    return _logits(q, k, scale, causal, mask, 1)
