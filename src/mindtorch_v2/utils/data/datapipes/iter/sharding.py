"""A pipe whose elements are shared out among processes."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):
    """The groups of processes among which elements are shared out, the outer first.

    >>> from mindtorch_v2.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
    >>> [(group.name, group.value) for group in SHARDING_PRIORITIES]
    [('DEFAULT', 1), ('DISTRIBUTED', 2), ('MULTIPROCESSING', 3)]
    """

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """A pipe of every n-th element, once `apply_sharding` says of how many processes this is which.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> pipe = IterableWrapper(range(6)).sharding_filter()
    >>> pipe.apply_sharding(3, 1)
    >>> list(pipe)
    [1, 4]
    """

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int, sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT
    ) -> None:
        """Say of how many processes of a group this is which; ValueError for a number that is none of them."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        default = SHARDING_PRIORITIES.DEFAULT
        if sharding_group == default and any(group != default for group in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        if sharding_group != default and default in self.groups:
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = (num_of_instances, instance_id)
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups):
            if self.sharding_group_filter is None or group == self.sharding_group_filter:
                count, place = self.groups[group]
                self.instance_id += self.num_of_instances * place
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        for index, element in enumerate(self.source_datapipe):
            if index % self.num_of_instances == self.instance_id:
                yield element

    def __len__(self) -> int:
        if not hasattr(self.source_datapipe, "__len__"):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        whole, rest = divmod(len(self.source_datapipe), self.num_of_instances)
        return whole + (self.instance_id < rest)
