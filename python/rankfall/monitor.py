"""Watching a PyTorch module while it trains: metrics of its hidden states, by layer and step."""

from __future__ import annotations

import json
import math
import operator
import re
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type, Union

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
        last = max((r["layer"] for r in records), default=0)
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


def _is_list_of_blocks(module: Any) -> bool:
    children = list(module.children())
    return len(children) >= 2 and len({type(child) for child in children}) == 1 and any(True for _ in children[0].parameters())


def find_blocks(module: Any) -> List[Any]:
    """The blocks of a transformer: the list of modules of one class that holds most of the parameters."""
    torch = _torch()
    lists = [m for m in module.modules() if isinstance(m, (torch.nn.ModuleList, torch.nn.Sequential)) and _is_list_of_blocks(m)]
    if not lists:
        raise UsageError("found no list of blocks in this module; give blocks=[...]")
    sizes = [sum(p.numel() for p in m.parameters()) for m in lists]
    # Of lists inside each other the outer one has as many: the first.
    return list(lists[sizes.index(max(sizes))].children())


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
        without it ClaimError is raised at the end of the forward pass.
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
        self._passes = {"train": 0, "eval": 0}
        self._measuring = False
        self._mode = "train"
        self._current: List[Dict[str, Any]] = []
        self._call_mask: Any = None
        self._step: Optional[int] = None
        self._layer = 0  # that was left last

    def _check_names(self) -> None:
        """Errors of names come now, not after the first hundred steps."""
        names = arrays._names(self.metrics)
        probe = arrays.metrics(np.eye(2), [n for n in names if not n.startswith("attention")] or None)
        known = set(probe) | set(names) | {n for n in names if n.startswith("attention")}
        for gate in self._gates:
            if gate.metric not in known and not gate.metric.startswith("attention."):
                raise UsageError(f"gate: '{gate.metric}' is not measured; measured are {', '.join(sorted(known))}")

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
        try:  # torch 2 tells hooks about keyword arguments
            before = self.module.register_forward_pre_hook(_Hook(self._before), with_kwargs=True)
        except TypeError:
            before = self.module.register_forward_pre_hook(_Hook(lambda module, args: self._before(module, args, {})))
        self._handles = [before, self.module.register_forward_hook(_Hook(self._after))]
        self._handles.append(self._blocks[0].register_forward_pre_hook(_Hook(self._enter_first)))
        for block, i in {block: i for i, block in reversed(list(enumerate(self._blocks)))}.items():
            self._handles.append(block.register_forward_hook(_Hook(self._leave(i + 1))))
        return self

    def close(self) -> None:
        """Stops watching and closes the file; records stay."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._measuring = False
        if self._file is not None:
            self._file.close()
            self._file = None

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
        self._current = []
        self._layer = 0
        if not self._measuring:
            return
        mask = self.mask(args, kwargs) if callable(self.mask) else self.mask
        if mask is None:
            mask = kwargs.get("attention_mask")
            mask = mask if mask is not None and getattr(mask, "ndim", 0) == 2 else None
        self._call_mask = mask

    def _enter_first(self, _block: Any, args: Any) -> None:
        if self._measuring and not self._current:
            state = _state_in(args)
            if state is not None:
                self._measure(0, state)

    def _leave(self, layer: int) -> Callable[[Any, Any, Any], None]:
        def hook(_block: Any, _args: Any, output: Any) -> None:
            if not self._measuring:
                return
            # A block that is used again (shared weights) is a further layer; one that was skipped leaves a gap.
            self._layer = layer if layer > self._layer else self._layer + 1
            state = _state_in(output)
            if state is None:
                warnings.warn(f"block {layer - 1} gives no tensor with three axes; it is not measured", stacklevel=2)
                return
            self._measure(self._layer, state)
            attention = _attention_in(output, state.shape[1 if self._batch_first else 0])
            if attention is not None:
                self._measure_attention(self._layer - 1, attention)

        return hook

    def _mask_rows(self, n: int, n_tokens: int) -> Any:
        if self._call_mask is None:
            return None
        mask = arrays._numpy(self._call_mask) != 0
        mask = np.broadcast_to(mask, (n, mask.shape[-1])) if mask.ndim == 1 else mask[:n]
        return mask if mask.shape == (n, n_tokens) else None

    def _measure(self, layer: int, state: Any) -> None:
        begin = time.perf_counter()
        state = state.detach()
        if not self._batch_first:
            state = state.transpose(0, 1)
        state = state[: self.samples]
        names = [n for n in arrays._names(self.metrics) if not n.startswith("attention")]
        try:
            values = arrays.metrics(state, names or None, mask=self._mask_rows(state.shape[0], state.shape[1]))
        except ArithmeticError:  # NaN in a state: a fact of this training, to be seen, not an end of it
            values = {name: np.full(state.shape[0], np.nan) for name in (names or ["relative_residual.composite"])}
        self._add(layer, None, values)
        self.seconds += time.perf_counter() - begin

    def _measure_attention(self, block: int, attention: Any) -> None:
        names = [n for n in arrays._names(self.metrics) if n.startswith("attention") or n == "all"]
        names = names or ["attention.entropy", "attention.sink"]
        begin = time.perf_counter()
        attention = attention.detach()[: self.samples]
        mask = self._mask_rows(attention.shape[0], attention.shape[-1])
        values = arrays.metrics(attention=attention, metrics=names, mask=mask)
        for head in range(attention.shape[1]):
            self._add(block, head, {name: np.asarray(v)[:, head] for name, v in values.items()})
        self.seconds += time.perf_counter() - begin

    def _add(self, layer: int, head: Optional[int], values: Dict[str, Any]) -> None:
        step = self._passes[self._mode] - 1 if self._step is None else self._step
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
            return
        self.records += records
        self._write(records)
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
            line = {"step": first["step"], "mode": first["mode"], "time": time.time(), "values": cells}
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
        values = np.full((len(steps), 1 + max(r["layer"] for r in chosen)), np.nan)
        for r in chosen:
            values[steps.index(r["step"]), r["layer"]] = np.nan if r["mean"] is None else r["mean"]
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
        self._arguments = arguments
        self.monitor: Optional[Monitor] = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins to watch the Trainer's model."""
        module = kwargs.get("model")
        if module is None:
            raise InputError("the Trainer gave no model")
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
        if name.startswith("on_"):  # events of the Trainer that mean nothing here
            return lambda *args, **kwargs: None
        raise AttributeError(name)
