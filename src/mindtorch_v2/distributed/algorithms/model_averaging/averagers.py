"""Averagers: each call counts a step, and averages the parameters in some."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.model_averaging import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(abc.ABC):
    """The base of averagers.

    Args:
        process_group: whose ranks average; None is everybody.

    >>> from mindtorch_v2.distributed.algorithms.model_averaging import averagers
    >>> class Counting(averagers.ModelAverager):
    ...     def average_parameters(self, params):
    ...         self.step += len(list(params))
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> averager = Counting()
    >>> averager.average_parameters(torch.nn.Linear(2, 1).parameters())
    >>> averager.step
    2
    >>> dist.destroy_process_group()
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = torch.distributed.group.WORLD if process_group is None else process_group
        self.step = 0

    @abc.abstractmethod
    def average_parameters(self, params: Iterable[Any]) -> None:
        """Count a step, and average if it is time."""


class PeriodicModelAverager(ModelAverager):
    """Averages in every step of a period.

    Args:
        period: steps from one average to the next; 1 averages in each step, which gradients could do as well (a warning).
        warmup_steps: steps without averages before the first one.
        process_group: whose ranks average; None is everybody.

    ValueError for fewer than 0 `warmup_steps`, or a `period` below 1.

    >>> from mindtorch_v2.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
    >>> averager.average_parameters(torch.nn.Linear(2, 1).parameters())
    >>> averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(
                "When period is 1, no need to use model averaging because the communication cost "
                "of all-reducing parameters will be no less than the cost of all-reducing gradients "
                "by DistributedDataParallel in the backward pass. Therefore, only "
                "DistributedDataParallel should be used for this case.",
                stacklevel=2,
            )
        self.period, self.warmup_steps = period, warmup_steps

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, if `period` steps have passed since the last time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
