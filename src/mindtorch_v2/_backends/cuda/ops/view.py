"""Gradients of views, and copies with a part replaced. Views themselves need no kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.strided import register_as_strided_backward
from ..copies import copy, fill
from ..indexing import Pick, Work, combine
from ..table import CONTIGUOUS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _paste(part: Tensor, source: Tensor) -> None:
    if part.numel():
        copy(part, source)


def _gradient(part: Callable[..., Tensor]) -> Callable[..., None]:
    """Zeros, but where the view was."""

    def compute(grad: Tensor, sizes: Sequence[int], *rest: Any) -> None:
        fill(rest[-1], 0)
        _paste(part(rest[-1], *rest[:-1]), grad)

    return compute


def _replaced(part: Callable[..., Tensor]) -> Callable[..., None]:
    """A copy, but for what the view shows."""

    def compute(self: Tensor, src: Tensor, *rest: Any) -> None:
        _paste(rest[-1], self)
        shown = part(rest[-1], *rest[:-1])
        if shown.shape != src.shape:
            shapes = f"src size = {list(src.shape)}, slice size = {list(shown.shape)}"
            raise RuntimeError(f"expected src to have a size equal to the slice of self. {shapes}")
        _paste(shown, src)

    return compute


for _name, _part in (("diagonal", aten.diagonal), ("select", aten.select), ("slice", aten.slice)):
    kernel(f"{_name}_backward")(_gradient(_part))
    kernel(f"{_name}_scatter")(_replaced(_part))


@kernel("as_strided_scatter")
def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None, out: Tensor
) -> None:
    # The view is of a copy that is laid out as `self`, whatever the layout of the output.
    kept = aten.empty_like(self)
    _replaced(aten.as_strided)(self, src, size, stride, storage_offset, kept)
    _paste(out, kept)


@kernel("diag_embed")
def diag_embed(self: Tensor, offset: int, dim1: int, dim2: int, out: Tensor) -> None:
    fill(out, 0)
    _paste(aten.diagonal(out, offset, dim1, dim2), self)


def _add_strided(out: Tensor, grad: Tensor, strides: Sequence[int], offset: int) -> None:
    """Add a gradient into the places of a contiguous output that a strided view, which may overlap, covers."""
    if not grad.numel():
        return
    places = aten.full([1] * max(1, grad.dim()), offset, dtype=DTYPES["int64"], device=out.device)
    for d, (n, step) in enumerate(zip(grad.shape, strides, strict=True)):
        sizes = [1] * grad.dim()
        sizes[d] = n
        places = places + (aten.arange(n, device=out.device) * step).view(sizes)
    flat, dims = out.view(-1), list(places.shape)
    given = grad.view(1) if grad.dim() == 0 else grad
    work = Work(dims, [0] * len(dims), list(given.stride()), [Pick(places, list(places.stride()), flat.shape[0], 1)])
    combine("Sum", flat, given, work)


def _scatter_strided(out: Tensor, grad: Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    fill(out, 0)
    _add_strided(out, grad, stride, offset)


register_as_strided_backward(kernel, _scatter_strided, flags=CONTIGUOUS)


@kernel("unfold_backward", flags=CONTIGUOUS)
def unfold_backward(grad: Tensor, sizes: Sequence[int], dim: int, size: int, step: int, out: Tensor) -> None:
    fill(out, 0)
    strides = list(out.stride())
    if out.dim():
        dim %= out.dim()
        strides.append(strides[dim])
        strides[dim] *= step
    else:
        strides = [1]
    _add_strided(out, grad, strides, 0)
