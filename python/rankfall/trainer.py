"""The monitor as a callback of the Hugging Face Trainer."""

from __future__ import annotations

import inspect
from typing import Any, Optional

from .errors import InputError
from .monitor import Monitor

__all__ = ["TrainerCallback"]


class TrainerCallback:
    """A Monitor as a callback of the Hugging Face Trainer: `Trainer(..., callbacks=[rf.TrainerCallback(every=100)])`.

    It takes the arguments of Monitor except the module, which the Trainer brings. `monitor` is the Monitor once
    training has begun. The example calls the events as the Trainer does:

    >>> import torch, rankfall as rf
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
    >>> class State:
    ...     global_step = 40
    >>> callback = rf.TrainerCallback(every=1, file=None)
    >>> callback.on_train_begin(None, State, None, model=model)
    >>> callback.on_step_begin(None, State, None)
    >>> output = model(torch.randn(2, 5, 4))
    >>> callback.on_train_end(None, State, None)
    >>> callback.monitor.records[0]["step"]
    40
    """

    def __init__(self, **arguments: Any) -> None:
        inspect.signature(Monitor).bind(None, **arguments)  # TypeError now, not when training begins
        self._arguments = arguments
        self.monitor: Optional[Monitor] = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins to watch the model of the Trainer."""
        module = kwargs.get("model")
        if module is None:
            raise InputError("the Trainer gave no model")
        if self.monitor is not None:  # a training that was interrupted
            self.monitor.close()
        self.monitor = Monitor(module, **self._arguments).start()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Numbers the records as the Trainer numbers its steps."""
        if self.monitor is not None:
            self.monitor.step(int(state.global_step))

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stops watching; `monitor` keeps its records."""
        if self.monitor is not None:
            self.monitor.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") and not name.startswith("on_gate"):  # events of the Trainer that mean nothing here
            return lambda *args, **kwargs: None
        raise AttributeError(name)
