"""The back end "fake": a rehearsal of one rank. Nothing is sent; what others would say is what this rank says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed._collectives import Collectives
from mindtorch_v2.distributed._outcome import Outcome
from mindtorch_v2.distributed._work import Work

__all__ = ["FakeProcessGroup"]


class FakeProcessGroup(Collectives):
    """One rank of a group that is made of it alone: shapes and schedules are right, numbers are not.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("fake", rank=1, world_size=3)
    >>> parts = [torch.zeros(1) for _ in range(3)]
    >>> dist.all_gather(parts, torch.ones(1))
    >>> parts
    [tensor([1.]), tensor([1.]), tensor([1.])]
    >>> dist.destroy_process_group()
    """

    name, title = "fake", "FakeProcessGroup"

    def __init__(self, rank: int, size: int, timeout: Any = None) -> None:
        self.rank, self.size, self.timeout = rank, size, timeout

    @classmethod
    def _create_internal(cls, rank: int, world_size: int, options: Any = None) -> FakeProcessGroup:
        return cls(rank, world_size)

    def close(self) -> None:
        """Nothing is open."""

    def abort(self) -> None:
        """Nothing is under way."""

    def _check_reducible(self, name: str, tensor: torch.Tensor, op: Any) -> None:
        """Anything can be left as it is."""

    def _start(
        self,
        name: str,
        run: Callable[..., None],
        operands: tuple[Any, ...],
        written: Sequence[torch.Tensor],
        asynchronous: bool,
        *details: Any,
    ) -> Work:
        with torch.no_grad():
            run(*operands)
        return Work(Outcome.done_with(None), written, name)

    def _all_reduce(self, tensor: torch.Tensor, op: Any) -> None:
        pass

    def _broadcast(self, tensor: torch.Tensor, root: int) -> None:
        pass

    def _reduce(self, tensor: torch.Tensor, root: int, op: Any) -> None:
        pass

    def _barrier(self) -> None:
        pass

    def _all_gather(self, tensor: torch.Tensor, outputs: Sequence[torch.Tensor]) -> None:
        for output in outputs:
            output.copy_(tensor)

    def _all_gather_into(self, tensor: torch.Tensor, output: torch.Tensor) -> None:
        self._all_gather(tensor, [part.view_as(tensor) for part in output.chunk(self.size)])

    def _gather(self, tensor: torch.Tensor, outputs: Sequence[torch.Tensor] | None, root: int) -> None:
        if self.rank == root:
            self._all_gather(tensor, outputs or ())

    def _scatter(self, output: torch.Tensor, inputs: Sequence[torch.Tensor], root: int) -> None:
        if self.rank == root:
            output.copy_(inputs[self.rank])

    def _reduce_scatter(self, output: torch.Tensor, inputs: Sequence[torch.Tensor], op: Any) -> None:
        output.copy_(inputs[self.rank])

    def _all_to_all(self, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> None:
        for output, given in zip(outputs, inputs, strict=True):
            output.copy_(given if output.shape == given.shape else output)

    def _send(self, tensor: torch.Tensor, rank: int, tag: int) -> Work:
        return Work(Outcome.done_with(None), [tensor], "send", source=rank)

    def _recv(self, tensor: torch.Tensor, rank: int | None, tag: int) -> Work:
        if rank is None:
            raise RuntimeError('a group of the back end "fake" receives from nobody: name the rank')
        return Work(Outcome.done_with(None), [tensor], "recv", source=rank)
