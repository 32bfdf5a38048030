"""Options of the methods of process groups: PyTorch's classes, whose fields programs set one by one."""

from __future__ import annotations

import datetime
from typing import Any

from mindtorch_v2.distributed._reduce_op import ReduceOp

__all__ = [
    "AllToAllOptions",
    "AllgatherOptions",
    "AllreduceCoalescedOptions",
    "AllreduceOptions",
    "BarrierOptions",
    "BroadcastOptions",
    "GatherOptions",
    "ReduceOptions",
    "ReduceScatterOptions",
    "ScatterOptions",
]

_UNSET = datetime.timedelta(milliseconds=-1)


class _Options:
    """Fields with their defaults; others are errors, so that a misspelt one is not lost."""

    timeout: datetime.timedelta
    asyncOp: bool

    def __init__(self) -> None:
        self.timeout, self.asyncOp = _UNSET, True

    def __setattr__(self, name: str, value: Any) -> None:
        fields = type(self).__annotations__.keys() | _Options.__annotations__.keys()
        if name not in fields:
            raise AttributeError(f"{type(self).__name__} has no option {name!r}, only {', '.join(sorted(fields))}")
        if name == "timeout" and not isinstance(value, datetime.timedelta):
            raise TypeError(f"timeout must be a datetime.timedelta, not {type(value).__name__}: {value!r}")
        super().__setattr__(name, ReduceOp(value) if name == "reduceOp" else value)

    def limit(self) -> datetime.timedelta | None:
        """How long it may take; None is what the group says."""
        return None if self.timeout == _UNSET else self.timeout


class AllreduceOptions(_Options):
    """Options of `ProcessGroup.allreduce`: `reduceOp` (SUM), `timeout`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> options = dist.distributed_c10d.AllreduceOptions()
    >>> options.reduceOp = dist.ReduceOp.MAX
    >>> x = torch.tensor([1.0, 2.0])
    >>> _ = dist.group.WORLD.allreduce([x], options).wait()
    >>> x
    tensor([1., 2.])
    >>> dist.destroy_process_group()
    """

    reduceOp: Any

    def __init__(self) -> None:
        super().__init__()
        self.reduceOp = ReduceOp.SUM


class AllreduceCoalescedOptions(AllreduceOptions):
    """Options of `ProcessGroup.allreduce_coalesced`: those of `AllreduceOptions`.

    >>> options = torch.distributed.distributed_c10d.AllreduceCoalescedOptions()
    >>> options.reduceOp = torch.distributed.ReduceOp.MAX
    >>> options.reduceOp == torch.distributed.ReduceOp.MAX
    True
    """

    reduceOp: Any


class ReduceScatterOptions(_Options):
    """Options of `ProcessGroup.reduce_scatter`: `reduceOp` (SUM), `timeout`.

    >>> options = torch.distributed.distributed_c10d.ReduceScatterOptions()
    >>> options.reduceOp == torch.distributed.ReduceOp.SUM
    True
    """

    reduceOp: Any

    def __init__(self) -> None:
        super().__init__()
        self.reduceOp = ReduceOp.SUM


class BroadcastOptions(_Options):
    """Options of `ProcessGroup.broadcast`: `rootRank` in the group (0), `rootTensor` (0: there is one), `timeout`.

    >>> options = torch.distributed.distributed_c10d.BroadcastOptions()
    >>> options.rootRank, options.rootTensor
    (0, 0)
    """

    rootRank: int
    rootTensor: int

    def __init__(self) -> None:
        super().__init__()
        self.rootRank = self.rootTensor = 0


class ReduceOptions(_Options):
    """Options of `ProcessGroup.reduce`: `reduceOp` (SUM), `rootRank` in the group (0), `rootTensor` (0), `timeout`.

    >>> options = torch.distributed.distributed_c10d.ReduceOptions()
    >>> options.rootRank, options.rootTensor
    (0, 0)
    """

    reduceOp: Any
    rootRank: int
    rootTensor: int

    def __init__(self) -> None:
        super().__init__()
        self.reduceOp = ReduceOp.SUM
        self.rootRank = self.rootTensor = 0


class GatherOptions(_Options):
    """Options of `ProcessGroup.gather`: `rootRank` in the group (0), `timeout`.

    >>> torch.distributed.distributed_c10d.GatherOptions().rootRank
    0
    """

    rootRank: int

    def __init__(self) -> None:
        super().__init__()
        self.rootRank = 0


class ScatterOptions(_Options):
    """Options of `ProcessGroup.scatter`: `rootRank` in the group (0), `timeout`.

    >>> torch.distributed.distributed_c10d.ScatterOptions().rootRank
    0
    """

    rootRank: int

    def __init__(self) -> None:
        super().__init__()
        self.rootRank = 0


class AllgatherOptions(_Options):
    """Options of `ProcessGroup.allgather`: `timeout`.

    >>> torch.distributed.distributed_c10d.AllgatherOptions().timeout
    datetime.timedelta(days=-1, seconds=86399, microseconds=999000)
    """


class AllToAllOptions(_Options):
    """Options of `ProcessGroup.alltoall`: `timeout`.

    >>> torch.distributed.distributed_c10d.AllToAllOptions().timeout
    datetime.timedelta(days=-1, seconds=86399, microseconds=999000)
    """


class BarrierOptions(_Options):
    """Options of `ProcessGroup.barrier`: `timeout`; `device_ids` and `device` are taken as in PyTorch.

    >>> options = torch.distributed.distributed_c10d.BarrierOptions()
    >>> options.device_ids
    []
    """

    device_ids: list[int]
    device: Any

    def __init__(self) -> None:
        super().__init__()
        self.device_ids, self.device = [], None
