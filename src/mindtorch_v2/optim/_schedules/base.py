"""`LRScheduler`: counting epochs, writing rates into parameter groups, and the checks on call order."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any
from weakref import ref

import mindtorch_v2 as torch
from mindtorch_v2.optim.optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)

_ORDER_HELP = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def _format_param(name, optimizer, param) -> list:
    """`param` as one value per parameter group: a list is checked for its length, a value is repeated."""

    def own(value: float) -> float:
        return value.clone() if isinstance(value, torch.Tensor) else value

    if isinstance(param, (list, tuple)):
        if len(param) != len(optimizer.param_groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
                f"param_groups has {len(optimizer.param_groups)}."
            )
    else:
        param = [param] * len(optimizer.param_groups)
    return [own(value) for value in param]


def _param_groups_val_list(optimizer, key) -> list:
    """The groups' values of `key`; tensors are copied, so that later updates do not reach them."""
    values = (group[key] for group in optimizer.param_groups)
    return [value.clone() if isinstance(value, torch.Tensor) else value for value in values]


def _update_param_group_val(param_group, key, val) -> None:
    """Set one value of a group; a tensor is filled in place, as captured or fused steps hold on to it."""
    if isinstance(param_group[key], torch.Tensor):
        param_group[key].fill_(val.item() if isinstance(val, torch.Tensor) else val)
    else:
        param_group[key] = val


class LRScheduler:
    """Base of the schedules: a subclass gives `get_lr`, the groups' rates for `self.last_epoch`.

    Creating a scheduler makes its first step, for epoch `last_epoch + 1`. `last_epoch` other than -1 resumes and
    needs `initial_lr` in each group (KeyError otherwise).

    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.8)
    >>> schedule = Halving(optimizer)
    >>> optimizer.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.4]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                initial = group["lr"]
                group.setdefault("initial_lr", initial.clone() if isinstance(initial, torch.Tensor) else initial)
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                        "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                        "for a fresh training run (not recommended)"
                    )
        self.base_lrs = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with _initial_mode(self):
            self.step()

    def state_dict(self) -> dict:
        """Everything but the optimizer, as a dict."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a `state_dict`."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | torch.Tensor]:
        """The groups' rates as the last step set them."""
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """The groups' rates for `self.last_epoch`, from those in force (the chainable form)."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to `epoch`, and set the groups' rates."""
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    f"Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. {_ORDER_HELP}",
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
                    "you should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  "
                    "Failure to do this will result in PyTorch skipping the first value of the learning rate "
                    f"schedule. {_ORDER_HELP}",
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None) -> None:
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed_form = getattr(self, "_get_closed_form_lr", None)
                values = self.get_lr() if closed_form is None else closed_form()
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _update_param_group_val(group, "lr", lr)
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")

    def _current(self):
        return _param_groups_val_list(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The base's name in old programs."""


def _track_steps(optimizer) -> None:
    """Wrap `optimizer.step` so that it notes in `optimizer._opt_called` that it ran."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    step = optimizer.step
    optimizer_ref = ref(optimizer)
    func = step.__func__

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        owner: Any = optimizer_ref()
        owner._opt_called = True
        return func.__get__(owner, type(owner))(*args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]  # (a mark on the function)
    optimizer.step = wrapper


def _warn_get_lr_called_within_step(lr_scheduler) -> None:
    if not lr_scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=2,
        )


class _enable_get_lr_call:
    """While entered, `get_lr` is being called by the scheduler itself and does not warn."""

    def __init__(self, o: Any) -> None:
        self.o = o

    def __enter__(self) -> None:
        self.o._get_lr_called_within_step = True

    def __exit__(self, exc_type: Any, exc_value: BaseException | None, traceback: TracebackType | None) -> None:
        self.o._get_lr_called_within_step = False


class _initial_mode:
    """While entered, the scheduler makes the step that belongs to its creation."""

    def __init__(self, o: Any) -> None:
        self.o = o

    def __enter__(self) -> None:
        self.o._is_initial = True

    def __exit__(self, exc_type: Any, exc_value: BaseException | None, traceback: TracebackType | None) -> None:
        self.o._is_initial = False


def is_plain_function(fn: Callable[..., Any]) -> bool:
    """Whether `fn` is a function or lambda, whose state cannot be saved, not a callable object."""
    return isinstance(fn, types.FunctionType)
