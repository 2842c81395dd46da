"""Watching a PyTorch module while it trains: metrics of its hidden states, by layer and step."""

from __future__ import annotations

import json
import sys
import time
import uuid
import warnings
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Type, Union

import numpy as np

from . import _core, arrays
from .blocks import Hook, attention_in, batch_comes_first, before_call, find_blocks, state_in, torch_module
from .errors import ClaimError, InputError, UsageError
from .gates import Gate
from .model import whole
from .notebook import Chart
from .writers import label, writers_of

__all__ = ["Gate", "Monitor", "find_blocks"]


class Monitor:
    """Measures hidden states of a PyTorch module during training, every so many forward passes.

    `module` may be any torch.nn.Module on any device, of any floating-point type; its blocks are found by a rule (the
    list of modules of one class with most parameters), or given as `blocks`. Layer 0 is what enters the first block,
    layer l what leaves block l. Forward passes in training and in evaluation mode are counted apart. What is recomputed
    by gradient checkpointing is not measured twice. Under DistributedDataParallel only rank 0 measures and writes; where
    a gate ends it, the other ranks wait until their launcher ends them.

    every: measure the first and then every so many forward passes.
    metrics: names or groups as for `rankfall.metrics`; None: the default ones.
    samples: how many samples of a batch are measured, the first ones.
    mask: True for tokens that count: an array, or a function of the module's (args, kwargs); None: `attention_mask` of
        the call, where it has one with two axes. It may be set anew before each step (`mon.mask = ...`).
    batch_first: whether the first axis of a state is the sample; None: what the first block's `batch_first` says, or
        True.
    gate: one or several conditions METRIC[@LAYER] < VALUE (`rankfall.Gate`); where one holds, `on_gate(monitor,
        record)` is called, or without it ClaimError is raised at the end of the forward pass. Nothing else of the
        monitor ends a training: what cannot be measured or written is a warning, once of each kind, and NaN in a state
        is a record without a mean.
    file: JSON lines, one per measured pass; None: no file.
    tensorboard: a SummaryWriter, or a directory.
    wandb: a run, or True for the current one; `rankfall/step` is the axis of its charts, because W&B's own step counts
        calls of log().

    `records` has one dictionary per step, layer (and head) and metric, `seconds` the time that measuring took.

    >>> import torch, rankfall as rf
    >>> model = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 3)
    >>> with rf.Monitor(model, every=10, gate="relative_residual.composite < 1e-3") as mon:
    ...     for step in range(20):
    ...         output = model(torch.randn(4, 8, 16))
    >>> mon
    <rankfall monitor of 3 blocks: 2 of 20 forward passes measured>
    >>> steps, values = mon.curves("relative_residual.composite")
    >>> steps.tolist(), values.shape
    ([0, 10], (2, 4))
    >>> list(mon.to_pandas().columns)
    ['step', 'mode', 'layer', 'metric', 'mean', 'std', 'n']
    >>> mon.plot("cosine.mean").save("cosine.html")
    PosixPath('cosine.html')
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
        gate: Union[str, Gate, Sequence[Union[str, Gate]], None] = None,
        on_gate: Optional[Callable[[Monitor, Dict[str, Any]], None]] = None,
        file: Union[str, Path, None] = "rankfall-monitor.jsonl",
        tensorboard: Any = None,
        wandb: Any = None,
    ) -> None:
        torch = torch_module()
        if not isinstance(module, torch.nn.Module):
            raise InputError(f"found {type(module).__name__}, expected a torch.nn.Module")
        self.module = module
        self.every = whole(every, "every", 1, sys.maxsize)
        self.metrics = metrics
        self.samples = whole(samples, "samples", 1, sys.maxsize)
        self.mask = mask
        self.records: List[Dict[str, Any]] = []
        self.seconds = 0.0  # spent measuring
        self._blocks = list(blocks) if blocks is not None else find_blocks(module)
        if not self._blocks or not all(isinstance(block, torch.nn.Module) for block in self._blocks):
            raise UsageError("blocks: expected a list of at least one torch.nn.Module")
        self._batch_first = batch_comes_first(self._blocks[0]) if batch_first is None else bool(batch_first)
        gates = gate if isinstance(gate, (list, tuple)) else [] if gate is None else [gate]
        self._gates = [one if isinstance(one, Gate) else Gate.parse(one) for one in gates]
        self._warned: Set[str] = set()
        self._check_names()
        self._on_gate = on_gate
        self._path = None if file is None else Path(file)
        self._file: Optional[IO[str]] = None
        self._writers = writers_of(tensorboard, wandb)
        self._handles: List[Any] = []
        self._run = uuid.uuid4().hex[:8]
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
        """Begins to watch, as `with` does, and returns the monitor.

        >>> import torch, rankfall as rf
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        >>> mon = rf.Monitor(model, every=1, file=None).start()
        >>> output = model(torch.randn(2, 5, 4))
        >>> mon.close()
        >>> mon
        <rankfall monitor of 2 blocks: 1 of 1 forward passes measured>
        """
        if self._handles:
            return self
        self._handles = [
            before_call(self.module, self._before),
            self.module.register_forward_hook(Hook(self._after)),
            before_call(self._blocks[0], self._enter_first),
        ]
        for block, i in {block: i for i, block in reversed(list(enumerate(self._blocks)))}.items():
            self._handles.append(block.register_forward_hook(Hook(self._leave(i + 1))))
        return self

    def close(self) -> None:
        """Stops watching and closes the file; the records remain. `start` shows an example."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._measuring = False
        file, self._file = self._file, None
        if file is not None:
            self._guarded(file.close)

    def step(self, number: int) -> None:
        """Tells the number of the next step, for the records; without it forward passes are counted.

        Of several forward passes of one step, only the first is measured.

        >>> import torch, rankfall as rf
        >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        >>> with rf.Monitor(model, every=1, file=None) as mon:
        ...     mon.step(500)
        ...     output = model(torch.randn(2, 5, 4))
        >>> mon.records[0]["step"]
        500
        """
        self._step = int(number)

    # --- hooks

    @staticmethod
    def _is_rank_0() -> bool:
        distributed = getattr(torch_module(), "distributed", None)
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return True
        return bool(distributed.get_rank() == 0)

    def _before(self, module: Any, args: Any, kwargs: Any) -> None:
        self._measuring = False
        if torch_module().jit.is_tracing():  # that pass is for the trace, not for a training
            return
        self._mode = "train" if module.training else "eval"
        number = self._passes[self._mode]
        self._passes[self._mode] += 1
        self._measuring = number % self.every == 0 and self._is_rank_0()
        if self._step is not None:  # of several passes of one step the first
            self._measuring = self._measuring and self._step != self._measured_step
        self._current = []
        self._layer = 0
        if self._measuring:  # without its mask a pass would have other numbers
            self._measuring = self._guarded(lambda: self._take_mask(args, kwargs))

    def _take_mask(self, args: Any, kwargs: Any) -> None:
        mask = self.mask(args, kwargs) if callable(self.mask) else self.mask
        if mask is None:
            mask = kwargs.get("attention_mask")
            mask = mask if mask is not None and getattr(mask, "ndim", 0) == 2 else None
        self._call_mask = mask

    def _enter_first(self, _block: Any, args: Any, kwargs: Any) -> None:
        if self._measuring and not self._current:
            self._guarded(lambda: self._measure_entering([args, kwargs]))

    def _measure_entering(self, given: Any) -> None:
        state = state_in(given)
        if state is not None:
            self._measure(0, state)

    def _guarded(self, work: Callable[[], None]) -> bool:
        """What is wrong with measuring must not end a training. Returns whether nothing was."""
        begin = time.perf_counter()
        done = False
        try:
            work()
            done = True
        except Exception as error:
            self._warn(f"not measured or not written: {type(error).__name__}: {error}")
        self.seconds += time.perf_counter() - begin
        return done

    def _leave(self, layer: int) -> Callable[[Any, Any, Any], None]:
        def hook(_block: Any, _args: Any, output: Any) -> None:
            if not self._measuring:
                return
            # A block that is used again (shared weights) is a further layer; one that was skipped leaves a gap.
            self._layer = layer if layer > self._layer else self._layer + 1
            state = state_in(output)
            if state is None:
                self._warn(f"block {layer - 1} gives no dense tensor with three axes; it is not measured")
                return
            self._guarded(lambda: self._measure(self._layer, state))
            attention = attention_in(output, state.shape[1 if self._batch_first else 0])
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
        numbers = {label(r): r["mean"] for r in records if r["mean"] is not None}
        for writer in self._writers if numbers else []:  # one that fails keeps nothing from the others
            self._guarded(partial(writer, numbers, records[0]["step"]))
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

    # --- what was seen

    def to_pandas(self) -> Any:
        """The records as a pandas DataFrame, one row per step, layer (and head) and metric."""
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
        """A chart of the metric over steps, one curve per layer; a notebook shows it, `save` writes it to a file."""
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
