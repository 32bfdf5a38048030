"""The parameters that are gathered together, and whose gradients are summed together."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed._reduce_op import RedOpType
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.fsdp._fully_shard.parameter import ShardedParameter
from mindtorch_v2.distributed.fsdp._fully_shard.policies import MixedPrecisionPolicy

__all__ = ["ParameterGroup"]

_ALIGNMENT = 16  # bytes at whose multiples pieces begin in what is sent, whatever their dtypes are


class ParameterGroup:
    """Parameters of one call of `fully_shard`."""

    def __init__(self, parameters: list[ShardedParameter], mesh: DeviceMesh, mixed: MixedPrecisionPolicy) -> None:
        self.parameters, self.mesh, self.mixed = parameters, mesh, mixed
        self.shards = mesh.get_group(mesh.ndim - 1)
        self.copies = mesh.get_group(0) if mesh.ndim > 1 else None
        self.parts = mesh.size(mesh.ndim - 1)
        self.whole = False
        self.requires_sync = self.requires_all_reduce = True
        self.reshard_after_backward = True
        self.divide_factor: float | None = None
        self.all_reduce_hook: Any = None
        self.near: Any = None  # the group of ranks that keep parameters whole together between forward and backward
        self._kept: torch.Tensor | None = None  # this rank's part of what they keep
        self._gathering: Any = None  # (work, sent, received, offsets)
        self._reducing: list[Any] = []  # (work, sent, received, parameters, offsets)
        self._partial: dict[int, torch.Tensor] = {}  # pieces of gradients that copies have not summed yet

    # ---- parameters ----

    def start_gather(self) -> None:
        """Begin to gather, unless that has been done."""
        if self.whole or self._gathering is not None or not self.parameters:
            return
        with torch.no_grad():
            offsets, total = [], 0
            for each in self.parameters:
                offsets.append(total)
                total += -(-each.step * each.rest * each.whole_dtype.itemsize // _ALIGNMENT) * _ALIGNMENT
            if self._kept is None:
                sent, group = self._pieces(offsets, total), self.shards
            else:
                sent, group = self._kept, self.near
            received = torch.empty(self.parts * total, dtype=torch.uint8, device=sent.device)
            work = collectives.all_gather_into_tensor(received, sent, group, async_op=True)
            self._gathering = work, sent, received, offsets

    def _pieces(self, offsets: list[int], total: int) -> torch.Tensor:
        """This rank's pieces as they are sent."""
        rows = [each.row() for each in self.parameters]
        sent = torch.zeros(total, dtype=torch.uint8, device=rows[0].device)
        for row, offset in zip(rows, offsets, strict=True):
            sent[offset : offset + row.numel() * row.element_size()].view(row.dtype).copy_(row)
        return sent

    def gather(self, keep: bool = False) -> None:
        """Make the parameters whole; with `keep`, keep what the neighbours need of them once they are released."""
        if self.whole or not self.parameters:
            return
        self.start_gather()
        work, sent, received, offsets = self._gathering
        self._gathering = None
        work.wait()
        if keep and self.near is not None:
            count = received.numel() // self.near.size()
            self._kept = received[self.near.rank() * count :][:count].clone()
        table = received.view(self.parts, -1)
        with torch.no_grad():
            for each, offset in zip(self.parameters, offsets, strict=True):
                size = each.step * each.rest * each.whole_dtype.itemsize
                rows = table[:, offset : offset + size]
                each.take(
                    rows.contiguous().view(each.whole_dtype) if size else rows.view(self.parts, 0).to(each.whole_dtype)
                )
        self.whole = True

    def forget(self) -> None:
        """Keep nothing for the neighbours: the pieces may change from now on."""
        self._kept = None

    def release(self) -> None:
        """Leave each rank its pieces only, and what it keeps for its neighbours until backward."""
        if self._gathering is not None:
            self._gathering[0].wait()
            self._gathering = None
        if self.whole:
            for each in self.parameters:
                each.release()
            self.whole = False

    def write_back(self) -> None:
        """Take this rank's pieces from the whole parameters, which a program has written to."""
        if self.whole:
            for each in self.parameters:
                each.write_back()

    # ---- gradients ----

    def start_reduce(self) -> bool:
        """Begin to sum the gradients that backward left, if there are any; without synchronisation they stay where they are."""
        if not self.requires_sync:
            return False
        found = [(each, gradient) for each in self.parameters if (gradient := each.gradient()) is not None]
        if not found:
            return False
        with torch.no_grad():
            dtype = self.mixed.reduce_dtype or found[0][1].dtype
            widths = [each.step * each.rest for each, _ in found]
            sent = torch.empty((self.parts, sum(widths)), dtype=dtype, device=found[0][1].device)
            offset = 0
            for (each, gradient), width in zip(found, widths, strict=True):
                each.pieces(gradient, sent[:, offset : offset + width])
                offset += width
            received = sent.new_empty(sent.shape[1])
            work = collectives.reduce_scatter_tensor(received, sent.view(-1), RedOpType.SUM, self.shards, async_op=True)
        self._reducing.append((work, sent, received, [each for each, _ in found], widths))
        return True

    def finish_reduce(self) -> None:
        """Wait for the sums, and hand them to the sharded parameters."""
        pending, self._reducing = self._reducing, []
        with torch.no_grad():
            for work, _, received, parameters, widths in pending:
                work.wait()
                ranks = self.parts
                if self.copies is not None:
                    ranks *= self.mesh.size(0)
                    if not self.requires_all_reduce:
                        self._keep(received, parameters, widths)
                        continue
                    received = self._with_kept(received, parameters, widths)
                    collectives.all_reduce(received, group=self.copies)
                if self.all_reduce_hook is not None:
                    self.all_reduce_hook(received)
                received.div_(self.divide_factor or ranks)
                for each, row in zip(parameters, received.split(widths), strict=True):
                    each.accumulate(row)

    def _keep(self, received: torch.Tensor, parameters: list[ShardedParameter], widths: list[int]) -> None:
        for each, row in zip(parameters, received.split(widths), strict=True):
            kept = self._partial.get(id(each))
            self._partial[id(each)] = row.clone() if kept is None else kept.add_(row)

    def _with_kept(self, received: torch.Tensor, parameters: list[ShardedParameter], widths: list[int]) -> torch.Tensor:
        for each, row in zip(parameters, received.split(widths), strict=True):
            kept = self._partial.pop(id(each), None)
            if kept is not None:
                row.add_(kept)
        return received
