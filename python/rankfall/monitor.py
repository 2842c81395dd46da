"""Watching a PyTorch module while it trains: metrics of its hidden states, by layer and step."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import operator
import re
import sys
import time
import uuid
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Type, Union

import numpy as np

from . import _core, arrays
from .errors import ClaimError, InputError, UsageError
from .notebook import Chart

__all__ = ["Gate", "Monitor", "TrainerCallback"]

_OPERATORS: Dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Gate:
    """A condition on a metric's mean, such as `relative_residual.composite@6 < 1e-3`; without a layer, on any."""

    metric: str
    layer: Optional[int]
    sign: str
    value: float

    @staticmethod
    def parse(text: str) -> Gate:
        """From its text.

        >>> Gate.parse("cosine.mean@-1 > 0.99").layer
        -1
        """
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
        """The first record for which it holds."""
        last = max((r["layer"] for r in records if r["metric"] == self.metric), default=0)
        layer = self.layer if self.layer is None or self.layer >= 0 else last + 1 + self.layer
        for record in records:
            if record["metric"] != self.metric or (layer is not None and record["layer"] != layer):
                continue
            if record["mean"] is not None and _OPERATORS[self.sign](record["mean"], self.value):
                return record
        return None


def _torch() -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        import torch
    return torch


def _members(module: Any) -> List[Any]:
    """A list's modules, also those that stand in it several times."""
    return [m for m in module._modules.values() if m is not None]


def _is_list_of_blocks(module: Any) -> bool:
    nn = _torch().nn
    members = _members(module)
    lists = (nn.ModuleList, nn.ModuleDict)  # which are never called themselves
    return len(members) >= 2 and len({type(m) for m in members}) == 1 and not isinstance(members[0], lists)


def find_blocks(module: Any) -> List[Any]:
    """The blocks of a transformer: the list of modules of one class that holds most of the parameters."""
    torch = _torch()
    lists = [m for m in module.modules() if isinstance(m, (torch.nn.ModuleList, torch.nn.Sequential)) and _is_list_of_blocks(m)]
    if not lists:
        raise UsageError("found no list of blocks in this module; give blocks=[...]")
    sizes = [sum(p.numel() for p in m.parameters()) for m in lists]
    # Of lists inside each other the outer one has as many: the first.
    return _members(lists[sizes.index(max(sizes))])


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


def _tensors(value: Any) -> Iterator[Any]:
    torch = _torch()
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


def _state_in(value: Any) -> Any:
    """The hidden state among what a block takes or gives: the first tensor of real numbers with three axes."""
    return next((t for t in _tensors(value) if t.ndim == 3 and t.is_floating_point()), None)


def _attention_in(value: Any, n_tokens: int) -> Any:
    """Attention matrices among what a block gives: (samples, heads, tokens, tokens)."""
    return next(
        (t for t in _tensors(value) if t.ndim == 4 and t.is_floating_point() and t.shape[-2:] == (n_tokens, n_tokens)), None
    )


def _batch_comes_first(block: Any) -> bool:
    """PyTorch's own layers have tokens first unless told otherwise."""
    for module in block.modules():
        first = getattr(module, "batch_first", None)
        if isinstance(first, bool):
            return first
    return True


class _Hook:
    """A hook that copies and files of the module do not take along: what is watched is this module, not its copies."""

    def __init__(self, function: Optional[Callable[..., None]] = None) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self._function is not None:
            self._function(*args, **kwargs)

    def __deepcopy__(self, memo: Any) -> _Hook:
        return _Hook()

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_Hook, ())


def _before_call(module: Any, function: Callable[[Any, Any, Any], None]) -> Any:
    """Registers function(module, args, kwargs)."""
    try:  # torch 2 tells hooks about keyword arguments
        return module.register_forward_pre_hook(_Hook(function), with_kwargs=True)
    except TypeError:
        hook = _Hook(lambda called, args: function(called, args, _keywords_of_call()))
        return module.register_forward_pre_hook(hook)


class Monitor:
    """Measures hidden states of a PyTorch module during training, every so many forward passes.

        with rf.Monitor(model, every=100, gate="relative_residual.composite < 1e-3") as mon:
            train(model)
        mon.to_pandas(); mon.plot()

    `module` may be any torch.nn.Module on any device, of any floating-point type; its blocks are found by a rule (the list
    of modules of one class with most parameters), or given as `blocks`. Layer 0 is what enters the first block, layer l
    what leaves block l. Forward passes in training and in evaluation mode are counted apart. What is recomputed by
    gradient checkpointing is not measured twice. Under DistributedDataParallel only rank 0 measures and writes.

    every: measure the first and then every so many forward passes.
    metrics: names or groups as for `rankfall.metrics`; None: the default ones.
    samples: how many samples of a batch are measured, the first ones.
    mask: True for tokens that count: an array, or a function of the module's (args, kwargs); None: `attention_mask` of
        the call, where it has one with two axes. It may be set anew before each step (`mon.mask = ...`).
    gate: one or several conditions METRIC[@LAYER] < VALUE; where one holds, `on_gate(monitor, record)` is called, or
        without it ClaimError is raised at the end of the forward pass. Nothing else of the monitor ends a training: what
        cannot be measured or written is a warning, once of each kind, and NaN in a state a record without a mean.
    file: JSON lines, one per measured pass; None: no file.
    tensorboard: a SummaryWriter, or a directory. wandb: a run, or True for the current one.
    """

    def __init__(
        self,
        module: Any,
        *,
        every: int = 100,
        metrics: Union[str, Sequence[str], None] = None,
        blocks: Optional[Sequence[Any]] = None,
        samples: int = 8,
        mask: Any = None,
        batch_first: Optional[bool] = None,
        gate: Union[str, Sequence[str], None] = None,
        on_gate: Optional[Callable[[Monitor, Dict[str, Any]], None]] = None,
        file: Union[str, Path, None] = "rankfall-monitor.jsonl",
        tensorboard: Any = None,
        wandb: Any = None,
    ) -> None:
        torch = _torch()
        if not isinstance(module, torch.nn.Module):
            raise InputError(f"found {type(module).__name__}, expected a torch.nn.Module")
        if every < 1 or samples < 1:
            raise UsageError("every and samples: expected at least 1")
        self.module = module
        self.every = int(every)
        self.metrics = metrics
        self.samples = int(samples)
        self.mask = mask
        self.records: List[Dict[str, Any]] = []
        self.seconds = 0.0  # spent measuring
        self._blocks = list(blocks) if blocks is not None else find_blocks(module)
        if not self._blocks:
            raise UsageError("blocks: expected at least one module")
        self._batch_first = _batch_comes_first(self._blocks[0]) if batch_first is None else bool(batch_first)
        gates = [gate] if isinstance(gate, str) else list(gate or [])
        self._gates = [Gate.parse(text) for text in gates]
        self._check_names()
        self._on_gate = on_gate
        self._path = None if file is None else Path(file)
        self._file: Optional[IO[str]] = None
        self._writers = _writers(tensorboard, wandb)
        self._handles: List[Any] = []
        self._run = uuid.uuid4().hex[:8]
        self._warned: Set[str] = set()
        self._measured_step: Optional[int] = None
        self._passes = {"train": 0, "eval": 0}
        self._measuring = False
        self._mode = "train"
        self._current: List[Dict[str, Any]] = []
        self._call_mask: Any = None
        self._step: Optional[int] = None
        self._layer = 0  # that was left last

    def _check_names(self) -> None:
        """Errors of names come now, not after the first hundred steps."""
        asked = arrays._names(self.metrics)
        both = [n for n in asked if n == "all"]
        of_attention = [n for n in asked if n.startswith("attention")]
        of_states = [n for n in asked if not n.startswith("attention")]
        self._names = list(arrays.metrics(np.eye(2), of_states or None)) if of_states or not asked else []
        probe = of_attention + both or ["attention.entropy", "attention.sink"]
        self._attention_names = list(arrays.metrics(attention=np.eye(2), metrics=probe))
        known = [*self._names, *self._attention_names]
        for gate in self._gates:
            if gate.metric not in known:
                raise UsageError(f"gate: '{gate.metric}' is not measured; measured are {', '.join(known)}")
            if gate.layer is not None and gate.layer > len(self._blocks):
                self._warn(f"gate: layer {gate.layer} of {len(self._blocks)} blocks; it holds only if blocks are used again")

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            warnings.warn(f"rankfall monitor: {text}", RuntimeWarning, stacklevel=3)

    # --- beginning and end

    def __enter__(self) -> Monitor:
        self.start()
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def start(self) -> Monitor:
        """Begins to watch; `with` does it."""
        if self._handles:
            return self
        self._handles = [
            _before_call(self.module, self._before),
            self.module.register_forward_hook(_Hook(self._after)),
            _before_call(self._blocks[0], self._enter_first),
        ]
        for block, i in {block: i for i, block in reversed(list(enumerate(self._blocks)))}.items():
            self._handles.append(block.register_forward_hook(_Hook(self._leave(i + 1))))
        return self

    def close(self) -> None:
        """Stops watching and closes the file; records stay."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._measuring = False
        file, self._file = self._file, None
        if file is not None:
            self._guarded(file.close)

    def step(self, number: int) -> None:
        """The number of the step that comes, for the records; otherwise forward passes are counted."""
        self._step = int(number)

    # --- hooks

    @staticmethod
    def _is_rank_0() -> bool:
        distributed = getattr(_torch(), "distributed", None)
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return True
        return bool(distributed.get_rank() == 0)

    def _before(self, module: Any, args: Any, kwargs: Any) -> None:
        self._mode = "train" if module.training else "eval"
        number = self._passes[self._mode]
        self._passes[self._mode] += 1
        self._measuring = number % self.every == 0 and self._is_rank_0()
        if self._step is not None:  # of several passes of one step the first
            self._measuring = self._measuring and self._step != self._measured_step
        self._current = []
        self._layer = 0
        if not self._measuring:
            return
        mask = self.mask(args, kwargs) if callable(self.mask) else self.mask
        if mask is None:
            mask = kwargs.get("attention_mask")
            mask = mask if mask is not None and getattr(mask, "ndim", 0) == 2 else None
        self._call_mask = mask

    def _enter_first(self, _block: Any, args: Any, kwargs: Any) -> None:
        if self._measuring and not self._current:
            state = _state_in([args, kwargs])
            if state is not None:
                self._guarded(lambda: self._measure(0, state))

    def _guarded(self, work: Callable[[], None]) -> None:
        """What is wrong with measuring must not end a training."""
        begin = time.perf_counter()
        try:
            work()
        except Exception as error:
            self._warn(f"not measured or not written: {type(error).__name__}: {error}")
        self.seconds += time.perf_counter() - begin

    def _leave(self, layer: int) -> Callable[[Any, Any, Any], None]:
        def hook(_block: Any, _args: Any, output: Any) -> None:
            if not self._measuring:
                return
            # A block that is used again (shared weights) is a further layer; one that was skipped leaves a gap.
            self._layer = layer if layer > self._layer else self._layer + 1
            state = _state_in(output)
            if state is None:
                self._warn(f"block {layer - 1} gives no tensor with three axes; it is not measured")
                return
            self._guarded(lambda: self._measure(self._layer, state))
            attention = _attention_in(output, state.shape[1 if self._batch_first else 0])
            if attention is not None:
                self._guarded(lambda: self._measure_attention(self._layer - 1, attention))

        return hook

    def _mask_rows(self, n: int, n_tokens: int) -> Any:
        if self._call_mask is None:
            return None
        mask = arrays._numpy(self._call_mask) != 0
        mask = np.broadcast_to(mask, (n, mask.shape[-1])) if mask.ndim == 1 else mask[:n]
        if mask.shape != (n, n_tokens):
            self._warn(f"a mask of shape {mask.shape} for {n} samples of {n_tokens} tokens is not used")
            return None
        return mask

    def _values(self, x: Any, mask: Any, measure: Callable[[Any, Any], Dict[str, Any]], names: List[str]) -> Dict[str, Any]:
        """Values of each sample. NaN in a state is a fact of this training, to be seen: it has NaN for its values."""
        try:
            return measure(x, mask)
        except ArithmeticError as error:
            self._warn(f"NaN or infinity in a state or an attention matrix, first seen at step {self._number()}: {error}")
        rows = []
        for i in range(x.shape[0]):
            try:
                rows.append(measure(x[i : i + 1], None if mask is None else mask[i : i + 1]))
            except ArithmeticError:
                rows.append({name: np.full((1, *x.shape[1:-2]), np.nan) for name in names})
        return {name: np.concatenate([np.asarray(row[name]) for row in rows]) for name in names}

    def _measure(self, layer: int, state: Any) -> None:
        state = state.detach()
        if not self._batch_first:
            state = state.transpose(0, 1)
        state = state[: self.samples]
        if state.numel() == 0 or not self._names:
            return
        mask = self._mask_rows(state.shape[0], state.shape[1])
        if mask is not None:  # samples of padding alone have nothing to measure
            filled = np.flatnonzero(mask.any(axis=1))
            state, mask = state[filled.tolist()], mask[filled]
            if not len(filled):
                return
        names = self._names
        self._add(layer, None, self._values(state, mask, lambda x, m: arrays.metrics(x, names, mask=m), names))

    def _measure_attention(self, block: int, attention: Any) -> None:
        attention = attention.detach()[: self.samples]
        if attention.numel() == 0:
            return
        mask = self._mask_rows(attention.shape[0], attention.shape[-1])
        names = self._attention_names
        measure = lambda x, m: arrays.metrics(attention=x, metrics=names, mask=m)  # noqa: E731
        values = self._values(attention, mask, measure, names)
        for head in range(attention.shape[1]):
            self._add(block, head, {name: np.asarray(v)[:, head] for name, v in values.items()})

    def _number(self) -> int:
        return self._passes[self._mode] - 1 if self._step is None else self._step

    def _add(self, layer: int, head: Optional[int], values: Dict[str, Any]) -> None:
        step = self._number()
        for name, value in values.items():
            numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
            finite = bool(np.isfinite(numbers).all())
            record: Dict[str, Any] = {"step": step, "mode": self._mode, "layer": layer}
            if head is not None:
                record["head"] = head
            record.update(metric=name, mean=float(numbers.mean()) if finite else None)
            record["std"] = float(numbers.std(ddof=1)) if finite and numbers.size > 1 else None
            record["n"] = int(numbers.size)
            self._current.append(record)

    def _after(self, _module: Any, _args: Any, _output: Any) -> None:
        if not self._measuring:
            return
        self._measuring = False
        records, self._current = self._current, []
        if not records:
            self._warn("a forward pass called none of the blocks, or they gave nothing to measure; give blocks=[...]")
            return
        self._measured_step = self._step
        self.records += records
        self._guarded(lambda: self._write(records))
        for gate in self._gates:
            record = gate.broken(records)
            if record is None:
                continue
            if self._on_gate is not None:
                self._on_gate(self, record)
                continue
            raise ClaimError(
                f"step {record['step']}, layer {record['layer']}: {record['metric']} is {record['mean']:.4g}, which the"
                f" gate {gate.sign} {gate.value:g} does not allow"
            )

    def _write(self, records: Sequence[Dict[str, Any]]) -> None:
        if self._path is not None:
            if self._file is None:
                self._file = self._path.open("a", encoding="utf-8")
            first = records[0]
            cells = [{k: v for k, v in r.items() if k not in ("step", "mode")} for r in records]
            line = {"run": self._run, "step": first["step"], "mode": first["mode"], "time": time.time(), "values": cells}
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()
        numbers = {_label(r): r["mean"] for r in records if r["mean"] is not None}
        for writer in self._writers:
            writer(numbers, records[0]["step"])

    # --- what was seen

    def to_pandas(self) -> Any:
        """One row per step, layer (and head) and metric."""
        import pandas as pd

        columns = ["step", "mode", "layer", "head", "metric", "mean", "std", "n"]
        frame = pd.DataFrame(self.records, columns=columns)
        return frame if frame["head"].notna().any() else frame.drop(columns="head")

    def curves(self, metric: str = "relative_residual.composite", mode: str = "train") -> Tuple[Any, Any]:
        """The measured steps, and an array (steps, layers) of a metric; NaN where there is no value."""
        chosen = [r for r in self.records if r["metric"] == metric and r["mode"] == mode and "head" not in r]
        if not chosen:
            names = sorted({r["metric"] for r in self.records})
            raise UsageError(f"'{metric}' was not measured in mode '{mode}'; measured: {', '.join(names) or 'nothing'}")
        steps = sorted({r["step"] for r in chosen})
        place = {step: i for i, step in enumerate(steps)}
        values = np.full((len(steps), 1 + max(r["layer"] for r in chosen)), np.nan)
        for r in chosen:
            values[place[r["step"]], r["layer"]] = np.nan if r["mean"] is None else r["mean"]
        return np.array(steps), values

    def plot(self, metric: str = "relative_residual.composite", mode: str = "train") -> Chart:
        """The metric over steps, one curve per layer."""
        steps, values = self.curves(metric, mode)
        rows = [
            {"step": int(s), "layer": layer, "value": float(v)}
            for s, line in zip(steps, values)
            for layer, v in enumerate(line)
            if np.isfinite(v)
        ]
        info = _core.metric_info(metric)
        words = info["words"] if info else metric
        spec = {
            "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
            "data": {"values": rows},
            "width": "container",
            "height": 260,
            "title": words[:1].upper() + words[1:] + " by training step",
            "mark": {"type": "line", "point": True, "tooltip": True},
            "encoding": {
                "x": {"field": "step", "type": "quantitative"},
                "y": {"field": "value", "type": "quantitative", "title": words},
                "color": {"field": "layer", "type": "ordinal", "scale": {"scheme": "viridis"}},
            },
        }
        return Chart(spec, metric)

    def __repr__(self) -> str:
        measured = len({(r["mode"], r["step"]) for r in self.records})
        passes = sum(self._passes.values())
        return f"<rankfall monitor of {len(self._blocks)} blocks: {measured} of {passes} forward passes measured>"


def _label(record: Dict[str, Any]) -> str:
    head = f"_head{record['head']}" if "head" in record else ""
    mode = "" if record["mode"] == "train" else "eval/"
    return f"rankfall/{mode}{record['metric']}/layer{record['layer']:02d}{head}"


def _writers(tensorboard: Any, wandb: Any) -> List[Callable[[Dict[str, float], int], None]]:
    writers: List[Callable[[Dict[str, float], int], None]] = []
    if tensorboard is not None:
        if isinstance(tensorboard, (str, Path)):
            try:
                import importlib

                board: Any = importlib.import_module("torch.utils.tensorboard")
            except ImportError as error:
                raise InputError(f"tensorboard: cannot be imported: {error}") from None
            tensorboard = board.SummaryWriter(str(tensorboard))

        def to_tensorboard(numbers: Dict[str, float], step: int) -> None:
            for name, value in numbers.items():
                tensorboard.add_scalar(name, value, step)

        writers.append(to_tensorboard)
    if wandb is not None and wandb is not False:
        if wandb is True:
            try:
                import wandb as module
            except ImportError as error:
                raise InputError(f"wandb: cannot be imported: {error}") from None
            wandb = module

        def to_wandb(numbers: Dict[str, float], step: int) -> None:
            wandb.log(dict(numbers), step=step)

        writers.append(to_wandb)
    return writers


class TrainerCallback:
    """A Monitor as a callback of the Hugging Face Trainer: `Trainer(..., callbacks=[rf.TrainerCallback(every=100)])`.

    Takes the arguments of Monitor but the module, which the Trainer brings. `monitor` is the Monitor once training began.
    """

    def __init__(self, **arguments: Any) -> None:
        inspect.signature(Monitor).bind(None, **arguments)  # TypeError now, not when training begins
        self._arguments = arguments
        self.monitor: Optional[Monitor] = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins to watch the Trainer's model."""
        module = kwargs.get("model")
        if module is None:
            raise InputError("the Trainer gave no model")
        if self.monitor is not None:  # a training that was interrupted
            self.monitor.close()
        self.monitor = Monitor(module, **self._arguments).start()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Records carry the Trainer's own number of the step."""
        if self.monitor is not None:
            self.monitor.step(int(state.global_step))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops watching."""
        if self.monitor is not None:
            self.monitor.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") and not name.startswith("on_gate"):  # events of the Trainer that mean nothing here
            return lambda *args, **kwargs: None
        raise AttributeError(name)
