"""Tensors of the CPU as what is sent and combined: their memory, without gaps, and their sums."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed._reduce_op import RedOpType

__all__ = ["bytes_of", "check_contiguous", "combine_into", "combined", "contiguous", "packed", "plain"]

_COMBINE: dict[Any, Callable[..., torch.Tensor]] = {
    RedOpType.SUM: torch.Tensor.add_,
    RedOpType.AVG: torch.Tensor.add_,
    RedOpType.PRODUCT: torch.Tensor.mul_,
    RedOpType.MIN: lambda total, part: torch.minimum(total, part, out=total),
    RedOpType.MAX: lambda total, part: torch.maximum(total, part, out=total),
    RedOpType.BAND: torch.Tensor.bitwise_and_,
    RedOpType.BOR: torch.Tensor.bitwise_or_,
    RedOpType.BXOR: torch.Tensor.bitwise_xor_,
}
_OF_BOOL = {
    RedOpType.SUM: RedOpType.BOR,
    RedOpType.MAX: RedOpType.BOR,
    RedOpType.PRODUCT: RedOpType.BAND,
    RedOpType.MIN: RedOpType.BAND,
}


def combined(parts: Sequence[torch.Tensor], op: RedOpType, size: int, own: int = 0) -> torch.Tensor:
    """The parts of `size` ranks as one, in the order of the ranks; in the place of the part `own` where that order allows it.

    All parts but that one may be written to.
    """
    total = parts[own] if own <= 1 else parts[0]  # of the first two it makes no difference which comes first
    for place, part in enumerate(parts):
        if place != (own if own <= 1 else 0):
            combine_into(total, part, op)
    if op is RedOpType.AVG and size > 1:
        total.div_(size)
    return total


def combine_into(total: torch.Tensor, part: torch.Tensor, op: RedOpType) -> None:
    """Add one part to a total, or what the operation is; AVG adds."""
    if total.dtype is torch.bool:
        op = _OF_BOOL.get(op, op)
    _COMBINE[op](total, part)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor as a row of real numbers."""
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).view(-1)


def check_contiguous(tensor: torch.Tensor) -> None:
    """RuntimeError if a tensor has gaps."""
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")


def packed(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a copy of it without gaps."""
    return tensor.detach().contiguous()


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The memory of a contiguous tensor, which lives as long as this view of it."""
    nbytes = tensor.numel() * tensor.element_size()
    if not nbytes:
        return memoryview(bytearray())
    memory: Any = (ctypes.c_char * nbytes).from_address(tensor.data_ptr())
    memory.owner = tensor
    return memoryview(memory).cast("B")


class contiguous:
    """A tensor without gaps in its place: the tensor itself, or a copy that is copied back.

    Args:
        tensor: the tensor.
        read: whether what it holds matters.
        write: whether it is to be changed.
    """

    def __init__(self, tensor: torch.Tensor, read: bool = True, write: bool = True) -> None:
        self.tensor, self.read, self.write = tensor.detach(), read, write

    def __enter__(self) -> torch.Tensor:
        if self.tensor.is_contiguous():
            self.flat = self.tensor
        elif self.read:
            self.flat = self.tensor.contiguous()
        else:
            self.flat = torch.empty(self.tensor.shape, dtype=self.tensor.dtype)
        return self.flat

    def __exit__(self, kind: type[BaseException] | None, error: Any, traceback: TracebackType | None) -> None:
        if kind is None and self.write and self.flat is not self.tensor:
            self.tensor.copy_(self.flat)
