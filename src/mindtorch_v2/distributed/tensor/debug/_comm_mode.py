"""`CommDebugMode`: how many collectives of each kind a part of a program begins."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _functional_operators
from mindtorch_v2.distributed._schedule import listening
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

__all__ = ["CommDebugMode"]

# The operators of PyTorch by which collectives of a process group are counted, by what they are called here.
_IN_PLACE = {
    "all_reduce": "allreduce_",
    "all_to_all": "alltoall_base_",
    "broadcast": "broadcast_",
    "gather": "gather_",
    "reduce": "reduce_",
    "reduce_scatter": "_reduce_scatter_base_",
    "scatter": "scatter_",
}


class CommDebugMode(TorchDispatchMode):
    """A context that counts collectives: those of distributed tensors and functional ones by `torch.ops.c10d_functional`, those of
    process groups, such as the ones of `fully_shard`, by `torch.ops.c10d`.

    Attributes:
        comm_counts: the number of each operator, by its packet.

    >>> from mindtorch_v2.distributed.tensor import Shard, ones
    >>> from mindtorch_v2.distributed.tensor.debug import CommDebugMode
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = ones(4, device_mesh=dist.init_device_mesh("cpu", (1,)), placements=[Shard(0)])
    >>> with CommDebugMode() as mode:
    ...     _ = x.sum().full_tensor()
    >>> mode.get_total_counts(), mode.get_comm_counts()[torch.ops.c10d_functional.all_reduce]
    (1, 1)
    >>> dist.destroy_process_group()
    """

    sees_parts = False  # it looks for collectives alone

    def __init__(self) -> None:
        super().__init__()
        self.comm_counts: dict[Any, int] = collections.defaultdict(int)
        self._functional = _functional_operators.packets()
        self._inside = False  # of a functional collective, which is counted already
        self._open: list[contextlib.AbstractContextManager] = []

    def get_comm_counts(self) -> dict[Any, int]:
        """The number of collectives of each kind, by the packet of their operator; 0 for what there was none of."""
        return self.comm_counts

    def get_total_counts(self) -> int:
        """The number of collectives."""
        return sum(self.comm_counts.values())

    def __enter__(self) -> Self:
        self.comm_counts.clear()
        heard = listening(self._hear)
        heard.__enter__()
        self._open.append(heard)
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        self._open.pop().__exit__(*exception)

    def _hear(self, kind: str, operands: Sequence[Any]) -> None:
        if self._inside:
            return
        name = _IN_PLACE.get(kind)
        if kind == "all_gather":
            name = "_allgather_base_" if isinstance(operands[1], torch.Tensor) else "allgather_"
        if name is not None:
            self.comm_counts[getattr(torch.ops.c10d, name)] += 1

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(getattr(each, "_spec", None) is not None or each.__name__ == "DTensor" for each in types):
            return NotImplemented  # its collectives come as operators on its pieces
        packet = self._functional.get(getattr(func, "overloadpacket", None))
        if packet is None:
            return func(*args, **(kwargs or {}))
        self.comm_counts[packet] += 1
        self._inside = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._inside = False
