"""Back ends that a program brings: groups of its own classes, with PyTorch's methods, called as back ends of this package are."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2.distributed import _options
from mindtorch_v2.distributed._collectives import Collectives
from mindtorch_v2.distributed._group_calls import GroupCalls
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed._work import Work

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor

__all__ = ["as_backend", "calls_of"]


def as_backend(made: Any) -> Any:
    """The object that is called for a back end, of a plugin or of this package."""
    return made if isinstance(made, Collectives) else ForeignCalls(made)


def calls_of(group: Any) -> Any:
    """The back end of a group that a program made itself, if its class has collectives; else None."""
    methods = {name for kind in type(group).__mro__ if kind not in _OURS for name in vars(kind)}
    return ForeignCalls(group) if methods & vars(GroupCalls).keys() - vars(object).keys() else None


class ForeignCalls:
    """A back end by way of PyTorch's methods: lists of tensors, and options."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.timeout = _options._UNSET

    @property
    def name(self) -> str:
        """Its name, as its class says it."""
        return self.target.getBackendName() if hasattr(self.target, "getBackendName") else type(self.target).__name__

    def set_timeout(self, timeout: datetime.timedelta) -> None:
        """Say how long the collectives may take that begin from now on."""
        self.timeout = timeout

    def close(self) -> None:
        """Nothing: the object ends as its class does it."""

    def abort(self) -> None:
        """Break its connections, if its class can."""
        if _is_own(self.target, "abort"):
            self.target.abort()

    def _call(self, names: str, *arguments: Any) -> Work:
        """Call the method that the class has, by its newer or its older name."""
        for name in names.split():
            if _is_own(self.target, name):
                return getattr(self.target, name)(*arguments)
        raise RuntimeError(f"Backend {self.name} does not support {names.split()[0]}")

    def _has(self, names: str) -> bool:
        return any(_is_own(self.target, name) for name in names.split())

    def _options(self, kind: type, asynchronous: bool, **fields: Any) -> Any:
        options = kind()
        options.asyncOp = asynchronous
        for name, value in fields.items():
            setattr(options, name, value)
        return options

    def allreduce(self, tensor: Tensor, op: RedOpType, asynchronous: bool = False) -> Work:
        """Combine a tensor over the ranks, in place."""
        options = self._options(_options.AllreduceOptions, asynchronous, reduceOp=op)
        return self._call("allreduce", [tensor], options)

    def broadcast(self, tensor: Tensor, root: int, asynchronous: bool = False) -> Work:
        """Copy a tensor from the rank `root` to all."""
        return self._call("broadcast", [tensor], self._options(_options.BroadcastOptions, asynchronous, rootRank=root))

    def reduce(self, tensor: Tensor, root: int, op: RedOpType, asynchronous: bool = False) -> Work:
        """Combine a tensor over the ranks, in place, on the rank `root`."""
        options = self._options(_options.ReduceOptions, asynchronous, rootRank=root, reduceOp=op)
        return self._call("reduce", [tensor], options)

    def allgather(self, outputs: Sequence[Tensor], tensor: Tensor, asynchronous: bool = False) -> Work:
        """Copy the ranks' tensors into `outputs`."""
        options = self._options(_options.AllgatherOptions, asynchronous)
        return self._call("allgather", [list(outputs)], [tensor], options)

    def allgather_into(self, output: Tensor, tensor: Tensor, asynchronous: bool = False) -> Work:
        """Put the ranks' tensors one after the other into `output`."""
        names = "all_gather_single _allgather_base"
        if not self._has(names):
            return self.allgather(output.chunk(self.target.size()), tensor, asynchronous)
        return self._call(names, output, tensor, self._options(_options.AllgatherOptions, asynchronous))

    def gather(self, tensor: Tensor, outputs: Sequence[Tensor] | None, root: int, asynchronous: bool = False) -> Work:
        """Copy the ranks' tensors into `outputs` of the rank `root`."""
        options = self._options(_options.GatherOptions, asynchronous, rootRank=root)
        return self._call("gather", [] if outputs is None else [list(outputs)], [tensor], options)

    def scatter(self, output: Tensor, inputs: Sequence[Tensor] | None, root: int, asynchronous: bool = False) -> Work:
        """Give each rank its tensor of those of the rank `root`."""
        options = self._options(_options.ScatterOptions, asynchronous, rootRank=root)
        return self._call("scatter", [output], [] if inputs is None else [list(inputs)], options)

    def reduce_scatter(
        self, output: Tensor, inputs: Sequence[Tensor], op: RedOpType, asynchronous: bool = False
    ) -> Work:
        """Combine the ranks' tensors, of which each rank gets its own."""
        options = self._options(_options.ReduceScatterOptions, asynchronous, reduceOp=op)
        return self._call("reduce_scatter", [output], [list(inputs)], options)

    def reduce_scatter_from(self, output: Tensor, tensor: Tensor, op: RedOpType, asynchronous: bool = False) -> Work:
        """Combine the ranks' tensors, of which each rank gets its part."""
        names = "reduce_scatter_single _reduce_scatter_base"
        if not self._has(names):
            return self.reduce_scatter(output, tensor.chunk(self.target.size()), op, asynchronous)
        options = self._options(_options.ReduceScatterOptions, asynchronous, reduceOp=op)
        return self._call(names, output, tensor, options)

    def alltoall(self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], asynchronous: bool = False) -> Work:
        """Send each rank its tensor."""
        options = self._options(_options.AllToAllOptions, asynchronous)
        return self._call("alltoall", list(outputs), list(inputs), options)

    def alltoall_single(
        self,
        output: Tensor,
        tensor: Tensor,
        output_splits: Sequence[int] | None,
        input_splits: Sequence[int] | None,
        asynchronous: bool = False,
    ) -> Work:
        """Send each rank its part along the first dimension."""
        options = self._options(_options.AllToAllOptions, asynchronous)
        splits = [[] if each is None else [int(size) for size in each] for each in (output_splits, input_splits)]
        return self._call("all_to_all_single alltoall_base", output, tensor, *splits, options)

    def barrier(self, asynchronous: bool = False) -> Work:
        """Wait until all ranks are there."""
        return self._call("barrier", self._options(_options.BarrierOptions, asynchronous))

    def send(self, tensor: Tensor, rank: int, tag: int) -> Work:
        """Send a tensor to a rank."""
        return self._call("send", [tensor], rank, tag)

    def recv(self, tensor: Tensor, rank: int | None, tag: int) -> Work:
        """Receive a tensor from a rank; None is any."""
        if rank is None:
            return self._call("recv_anysource", [tensor], tag)
        return self._call("recv", [tensor], rank, tag)

    def batch(self, operations: Sequence[tuple[bool, Tensor, int, int]]) -> list[Work]:
        """Begin all of (whether it sends, tensor, rank, tag)."""
        return [(self.send if sends else self.recv)(tensor, rank, tag) for sends, tensor, rank, tag in operations]


_OURS: set[type] = {GroupCalls, object}  # classes whose methods are this package's; the group's own class joins


def ours(kind: type) -> type:
    """Note a class whose methods lead back to back ends, so that they are none of a program's."""
    _OURS.add(kind)
    return kind


def _is_own(target: Any, name: str) -> bool:
    """Whether an object's class has a method that is not this package's."""
    owner = next((kind for kind in type(target).__mro__ if name in vars(kind)), None)
    return owner is not None and owner not in _OURS
