"""New tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ...common.creation import register_uninitialised
from ..table import call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


register_uninitialised(kernel, alias=True)


@kernel("zeros", "zeros_like", "new_zeros")
def zeros(*arguments: Any) -> None:
    call("aclnnInplaceZero", arguments[-1])


@kernel("ones", "ones_like", "new_ones")
def ones(*arguments: Any) -> None:
    call("aclnnInplaceOne", arguments[-1])


@kernel("full", "full_like")
def full(shape: Sequence[int] | Tensor, value: float, *rest: Any) -> None:
    call("aclnnInplaceFillScalar", rest[-1], value)


@kernel("new_full")
def new_full(self: Tensor, size: Sequence[int], value: int, *rest: Any) -> None:
    call("aclnnInplaceFillScalar", rest[-1], value)


@kernel("scalar_tensor")
def scalar_tensor(value: float, *rest: Any) -> None:
    call("aclnnInplaceFillScalar", rest[-1], value)


@kernel("arange")
def arange(end: float, *rest: Any) -> None:
    call("aclnnArange", 0, end, 1, rest[-1])


@kernel("arange.start")
def arange_start(start: int, end: int, *rest: Any) -> None:
    call("aclnnArange", start, end, 1, rest[-1])


@kernel("arange.start_step")
def arange_step(start: float, end: int, step: float, *rest: Any) -> None:
    call("aclnnArange", start, end, step, rest[-1])


@kernel("eye")
def eye(n: int, *rest: Any) -> None:
    call("aclnnEye", n, n, rest[-1])


@kernel("eye.m")
def eye_m(n: int, m: int, *rest: Any) -> None:
    call("aclnnEye", n, m, rest[-1])


@kernel("linspace")
def linspace(start: int, end: int, steps: int, *rest: Any) -> None:
    call("aclnnLinspace", start, end, steps, rest[-1])


def _indices(name, part) -> None:
    """The places of a triangle: two rows, of the first and the second dimension."""

    @kernel(name)
    def indices(row: int, col: int, offset: Tensor, *rest: Any) -> None:
        out = rest[-1]
        if out.numel():
            inside = part(aten.ones([row, col], dtype=out.dtype, device=out.device), offset)
            call("aclnnInplaceCopy", out, aten.nonzero(inside).t())


_indices("tril_indices", aten.tril)
_indices("triu_indices", aten.triu)
