"""Where else a monitor writes its numbers: TensorBoard and Weights & Biases."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, List, Set

from .errors import InputError, UsageError

__all__ = ["Writer", "label", "writers_of"]

Writer = Callable[[Dict[str, float], int], None]  # takes numbers by name, and the step


def label(record: Dict[str, Any]) -> str:
    head = f"_head{record['head']}" if "head" in record else ""
    mode = "" if record["mode"] == "train" else "eval/"
    return f"rankfall/{mode}{record['metric']}/layer{record['layer']:02d}{head}"


def _to_wandb(given: Any) -> Writer:
    """Writes to a W&B run, or to the current one of the module.

    W&B drops values whose step is below its own, which every log() of the training moves on. So no step is passed: it
    is a value, and the axis of our charts. Values go into the row that is pending, which the training's next log() ends,
    so that its steps stay what they are; unless values of ours wait in that row already.
    """
    defined: Set[str] = set()
    waiting: Dict[str, Any] = {}  # the row of W&B that has our values, by axis

    def write(numbers: Dict[str, float], step: int) -> None:
        run = given.run if isinstance(given, ModuleType) else given
        if run is None:
            raise UsageError("wandb: there is no run; call wandb.init() first")
        axis = "rankfall/eval/step" if any(name.startswith("rankfall/eval/") for name in numbers) else "rankfall/step"
        for name in [n for n in numbers if n not in defined]:
            run.define_metric(name, step_metric=axis)
            defined.add(name)
        if axis in waiting and waiting[axis] == run.step:
            run.log({}, commit=True)
        waiting[axis] = run.step
        run.log({**numbers, axis: float(step)}, commit=False)

    return write


def writers_of(tensorboard: Any, wandb: Any) -> List[Writer]:
    writers: List[Writer] = []
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
        writers.append(_to_wandb(wandb))
    return writers
