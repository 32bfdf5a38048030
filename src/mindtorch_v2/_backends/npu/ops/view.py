"""Gradients of views, and copies with a part replaced: the part is a view of the output. Views themselves need no kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.strided import register_as_strided_backward
from ..table import call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _in_zeros(name, part) -> None:
    """The gradient of a view: zeros, with the gradient where the view was."""

    @kernel(name)
    def backward(grad: Tensor, sizes: Sequence[int], *rest: Any) -> None:
        *where, out = rest
        call("aclnnInplaceZero", out)
        target = part(out, *where)
        if target.numel():
            call("aclnnInplaceCopy", target, grad)


def _in_copy(name, part) -> None:
    @kernel(name)
    def scatter(self: Tensor, src: Tensor, *rest: Any) -> None:
        *where, out = rest
        call("aclnnInplaceCopy", out, self)
        target = part(out, *where)
        if tuple(target.shape) != tuple(src.shape):
            raise RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
                f"{list(target.shape)}"
            )
        if target.numel():
            call("aclnnInplaceCopy", target, src)


_in_zeros("diagonal_backward", aten.diagonal)
_in_zeros("select_backward", aten.select)
_in_zeros("slice_backward", aten.slice)
_in_copy("diagonal_scatter", aten.diagonal)
_in_copy("select_scatter", aten.select)
_in_copy("slice_scatter", aten.slice)


@kernel("diag_embed")
def diag_embed(self: Tensor, offset: Tensor, dim1: int, dim2: int, out: Tensor) -> None:
    call("aclnnInplaceZero", out)
    target = aten.diagonal(out, offset, dim1, dim2)
    if target.numel():
        call("aclnnInplaceCopy", target, self)


@kernel("unfold_backward")
def unfold_backward(grad: Tensor, sizes: Sequence[int], dim: int, size: int, step: int, out: Tensor) -> None:
    call("aclnnInplaceZero", out)
    windows = aten.unfold(out, dim, size, step)
    for i in range(windows.shape[dim]):  # windows may overlap: one after the other
        one, more = aten.select(windows, dim, i), aten.select(grad, dim, i)
        if out.is_complex():  # whose parts are added
            aten.add_(one, more)
        else:
            call("aclnnAdd", one, more, 1, one)


def _places(size, stride, offset, device):
    """Where the elements of a strided view lie in its storage, in row-major order."""
    places = aten.full([], offset, dtype=DTYPES["int64"], device=device)
    for n, step in zip(size, stride, strict=True):
        places = places.unsqueeze(-1) + aten.arange(n, device=device) * step
    return places.reshape(-1)


def _scatter_strided(out: Tensor, grad: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    flat = aten.new_zeros(grad, [out.numel()])
    if grad.numel():
        flat = flat.index_add(0, _places(size, stride, offset, grad.device), grad.reshape(-1))
    call("aclnnInplaceCopy", out, flat.view(out.shape))


register_as_strided_backward(kernel, _scatter_strided)
_in_copy("as_strided_scatter", aten.as_strided)
