"""What a monitor watches: the blocks of a PyTorch module, and what goes in and comes out of them."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .errors import UsageError

__all__ = ["attention_in", "batch_comes_first", "before_call", "find_blocks", "Hook", "state_in", "torch_module"]


def torch_module() -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        import torch
    return torch


def _members(module: Any) -> List[Any]:
    """A list's modules, also those that stand in it several times."""
    return [m for m in module._modules.values() if m is not None]


def _is_list_of_blocks(module: Any) -> bool:
    nn = torch_module().nn
    members = _members(module)
    lists = (nn.ModuleList, nn.ModuleDict)  # which are never called themselves
    return len(members) >= 2 and len({type(m) for m in members}) == 1 and not isinstance(members[0], lists)


def find_blocks(module: Any) -> List[Any]:
    """The blocks of a transformer: the list of modules of one class that holds most of the parameters."""
    torch = torch_module()
    lists = [m for m in module.modules() if isinstance(m, (torch.nn.ModuleList, torch.nn.Sequential)) and _is_list_of_blocks(m)]
    if not lists:
        raise UsageError("found no list of blocks in this module; give blocks=[...]")
    sizes = [sum(p.numel() for p in m.parameters()) for m in lists]
    # Of lists inside each other the outer one has as many: the first.
    return _members(lists[sizes.index(max(sizes))])


def _tensors(value: Any) -> Iterator[Any]:
    torch = torch_module()
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _tensors(getattr(value, field.name))


def _is_nested(tensor: Any) -> bool:
    """What PyTorch's own encoder makes of padded samples in evaluation mode; it has no shape."""
    return bool(getattr(tensor, "is_nested", False))


def state_in(value: Any) -> Any:
    """The hidden state among what a block takes or gives: the first tensor of real numbers with three axes."""
    return next((t for t in _tensors(value) if t.ndim == 3 and t.is_floating_point() and not _is_nested(t)), None)


def attention_in(value: Any, n_tokens: int) -> Any:
    """Attention matrices among what a block gives: (samples, heads, tokens, tokens)."""
    for tensor in _tensors(value):
        if tensor.ndim == 4 and tensor.is_floating_point() and not _is_nested(tensor):
            if tensor.shape[-2:] == (n_tokens, n_tokens):
                return tensor
    return None


def batch_comes_first(block: Any) -> bool:
    """PyTorch's own layers have tokens first unless told otherwise."""
    for module in block.modules():
        first = getattr(module, "batch_first", None)
        if isinstance(first, bool):
            return first
    return True


class Hook:
    """A hook that copies and files of the module do not take along: what is watched is this module, not its copies."""

    def __init__(self, function: Optional[Callable[..., None]] = None) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self._function is not None:
            self._function(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> Hook:
        return Hook()

    def __reduce__(self) -> Tuple[Any, ...]:
        return (Hook, ())


def _keywords_of_call() -> Dict[str, Any]:
    """The keyword arguments of the module's call that runs a hook: torch before 2 does not tell hooks."""
    frame = sys._getframe(1)
    for _ in range(6):
        if frame is None:
            break
        if frame.f_code.co_name == "_call_impl":
            return dict(frame.f_locals.get("kwargs") or {})
        frame = frame.f_back  # type: ignore[assignment]
    return {}


def before_call(module: Any, function: Callable[[Any, Any, Any], None]) -> Any:
    """Registers function(module, args, kwargs)."""
    try:  # torch 2 tells hooks about keyword arguments
        return module.register_forward_pre_hook(Hook(function), with_kwargs=True)
    except TypeError:
        hook = Hook(lambda called, args: function(called, args, _keywords_of_call()))
        return module.register_forward_pre_hook(hook)
