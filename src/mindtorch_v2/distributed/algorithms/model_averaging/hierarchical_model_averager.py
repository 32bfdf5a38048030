"""An averager with several periods: often among neighbours, seldom among all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.model_averaging import averagers, utils

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages among as many neighbouring ranks as the longest period says that is through.

    Args:
        period_group_size_dict: {period: how many ranks average}, the shortest period first; the last one is everybody.
        warmup_steps: steps without averages before the first one.
        process_group: the ranks that there are; None is everybody.

    ValueError for an empty dict, a last size that is not the group's, or fewer than 0 `warmup_steps`.

    >>> from mindtorch_v2.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> averager = HierarchicalModelAverager({2: 1, 4: 1}, warmup_steps=100)
    >>> averager.average_parameters(torch.nn.Linear(2, 1).parameters())
    >>> averager.step
    1
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, period_group_size_dict: Mapping[int, int] | None = None, warmup_steps: int = 0, process_group: Any = None
    ) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        size, last = torch.distributed.get_world_size(self.process_group), list(period_group_size_dict.values())[-1]
        if last != size:
            raise ValueError(
                f"The last value in arg ``period_group_size_dict`` {last} must be equal to the size of arg "
                f"``process_group`` {size}."
            )
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        self.period_process_group_dict = {
            period: self.process_group if each == size else torch.distributed.new_subgroups(each, self.process_group)[0]
            for period, each in period_group_size_dict.items()
        }

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Average parameters, or those of an optimizer's groups, among the ranks whose period is through."""
        if self.step >= self.warmup_steps:  # periods count from the first step of all
            due = [group for period, group in self.period_process_group_dict.items() if self.step % period == 0]
            if due:
                utils.average_parameters_or_parameter_groups(params, due[-1])
        self.step += 1
