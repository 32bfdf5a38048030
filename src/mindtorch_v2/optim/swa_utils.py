"""Averages of weights over training: `AveragedModel` (SWA, EMA), `update_bn`, and the schedule `SWALR`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.optim._schedules.base import LRScheduler, _format_param, _warn_get_lr_called_within_step
from mindtorch_v2.utils._foreach_utils import _group_tensors_by_device_and_dtype

if TYPE_CHECKING:
    from mindtorch_v2.optim.optimizer import Optimizer
    from mindtorch_v2.types import Device


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _is_lerpable(tensor) -> bool:
    return torch.is_floating_point(tensor) or torch.is_complex(tensor)


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """An exponential moving average over lists of parameters, for `AveragedModel(multi_avg_fn=...)`.

    >>> from mindtorch_v2.optim.swa_utils import get_ema_multi_avg_fn
    >>> averages = [torch.tensor([1.0])]
    >>> get_ema_multi_avg_fn(0.9)(averages, [torch.tensor([2.0])], torch.tensor(1))
    >>> averages
    [tensor([1.1000])]
    """
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(
        ema_param_list: Sequence[torch.Tensor], current_param_list: Sequence[torch.Tensor], _: torch.Tensor
    ) -> None:
        if _is_lerpable(ema_param_list[0]):
            torch._foreach_lerp_(ema_param_list, current_param_list, 1 - decay)
        else:
            for ema, current in zip(ema_param_list, current_param_list, strict=True):
                ema.copy_(ema * decay + current * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[..., Any]:
    """An equal average over lists of parameters, for `AveragedModel(multi_avg_fn=...)`.

    >>> from mindtorch_v2.optim.swa_utils import get_swa_multi_avg_fn
    >>> averages = [torch.tensor([1.0])]
    >>> get_swa_multi_avg_fn()(averages, [torch.tensor([4.0])], torch.tensor(2))
    >>> averages
    [tensor([2.])]
    """

    @torch.no_grad()
    def swa_update(
        averaged_param_list: Sequence[torch.Tensor],
        current_param_list: Sequence[torch.Tensor],
        num_averaged: Any,
    ) -> None:
        if _is_lerpable(averaged_param_list[0]):
            torch._foreach_lerp_(averaged_param_list, current_param_list, 1 / (num_averaged + 1))
        else:
            for averaged, current in zip(averaged_param_list, current_param_list, strict=True):
                averaged.add_(((current - averaged) / (num_averaged + 1)).to(averaged.dtype))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Callable[..., Any]:
    """An exponential moving average of one parameter, for `AveragedModel(avg_fn=...)`.

    >>> torch.optim.swa_utils.get_ema_avg_fn(0.9)(torch.tensor(1.0), torch.tensor(0.0), 1)
    tensor(0.9000)
    """
    _check_decay(decay)

    @torch.no_grad()
    def ema_update(
        ema_param: torch.Tensor, current_param: torch.Tensor, num_averaged: torch.Tensor | int
    ) -> torch.Tensor:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[..., Any]:
    """An equal average of one parameter, for `AveragedModel(avg_fn=...)`.

    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.tensor(1.0), torch.tensor(0.0), 1)
    tensor(0.5000)
    """

    @torch.no_grad()
    def swa_update(
        averaged_param: torch.Tensor, current_param: torch.Tensor, num_averaged: torch.Tensor | int
    ) -> torch.Tensor:
        return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(torch.nn.Module):
    """A copy of `model` whose weights are the average of those that `update_parameters` was called with.

    `avg_fn(averaged, current, count)` returns one parameter's new average; `multi_avg_fn` updates lists in place.
    Buffers are averaged too with `use_buffers`, else copied. `n_averaged` is a buffer (int64).

    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = torch.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged.item()
    1
    """

    n_averaged: torch.Tensor

    def __init__(
        self,
        model: torch.nn.Module,
        device: Device | None = None,
        avg_fn: Callable[..., Any] | None = None,
        multi_avg_fn: Callable[..., Any] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the averaged model."""
        return self.module(*args, **kwargs)

    def _averaged_tensors(self, module) -> list:
        return list(itertools.chain(module.parameters(), module.buffers() if self.use_buffers else ()))

    def update_parameters(self, model: torch.nn.Module) -> None:
        """Take the weights of `model` into the average; the first call copies them."""
        own = [tensor.detach() for tensor in self._averaged_tensors(self.module)]
        new = [
            tensor.detach().to(average.device)
            for tensor, average in zip(self._averaged_tensors(model), own, strict=True)
        ]
        if self.n_averaged == 0:
            for average, tensor in zip(own, new, strict=True):
                average.copy_(tensor)
        else:
            self._average(own, new)
        if not self.use_buffers:
            for average, tensor in zip(self.module.buffers(), model.buffers(), strict=True):
                average.detach().copy_(tensor.detach().to(average.device))
        self.n_averaged += 1

    def _average(self, own, new) -> None:
        if self.avg_fn is not None:
            for average, tensor in zip(own, new, strict=True):
                average.copy_(self.avg_fn(average, tensor, self.n_averaged.to(average.device)))
            return
        update = self.multi_avg_fn or get_swa_multi_avg_fn()
        for (device, _), ((averages, tensors), _) in _group_tensors_by_device_and_dtype([own, new]).items():
            update(averages, tensors, self.n_averaged.to(device))


@torch.no_grad()
def update_bn(loader: Iterable[Any], model: torch.nn.Module, device: Device | None = None) -> None:
    """Recompute the running statistics of the model's batch norms over the batches of `loader`.

    A batch that is a list or tuple gives its first item to the model.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]]), torch.tensor([[3.0], [5.0]])], model)
    >>> model.running_mean
    tensor([3.])
    """
    norms = [m for m in model.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    for norm in norms:
        norm.reset_running_stats()
        # None asks for the cumulative average, which weighs all batches alike.
        norm.momentum = None
    model.train()
    for batch in loader:
        inputs = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(inputs if device is None else inputs.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Go from each group's rate to `swa_lr` in `anneal_epochs` steps and stay there.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=0.05, anneal_epochs=2, anneal_strategy="linear")
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(scheduler.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.525, 0.05, 0.05]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ["cos", "linear"]:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr, swa_lr, alpha):
        """The rate that the annealing started from, given where it is."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def _set_anneal_func(self, anneal_strategy) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def get_lr(self) -> list[Any]:
        """The rates for this step."""
        _warn_get_lr_called_within_step(self)
        # The first step belongs to the scheduler's creation.
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before = self.anneal_func(max(0, min(1, (step - 1) / max(1, self.anneal_epochs))))
        now = self.anneal_func(max(0, min(1, step / max(1, self.anneal_epochs))))
        lrs = []
        for group in self.optimizer.param_groups:
            start = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            lrs.append(group["swa_lr"] * now + start * (1 - now))
        return lrs

    def state_dict(self) -> dict:
        """Everything but the optimizer and the annealing function, which is named by its strategy."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "anneal_func")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.__dict__.update(state_dict)
        self._set_anneal_func(self._anneal_strategy)
