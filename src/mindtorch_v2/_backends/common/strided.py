"""The gradient of `as_strided`, whose view may lie anywhere in its input and over itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..._tensor import Tensor


def register_as_strided_backward(kernel: Callable[..., Any], scatter: Callable[..., None], **options: Any) -> None:
    """Register the operator.

    Args:
        kernel: states a function as the kernel of rows, with `options`.
        scatter: (out, grad, size, stride, offset) fills a contiguous tensor with the sum of what lands on each place.
    """

    @kernel("_as_strided_backward", **options)
    def as_strided_backward(
        grad: Tensor,
        input_sizes: Sequence[int],
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int,
        out: Tensor,
    ) -> None:
        last = storage_offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if grad.numel() and last >= out.numel():
            raise RuntimeError(
                "as_strided: the gradient of a view that reaches outside a contiguous input is not supported"
            )
        scatter(out, grad, size, stride, storage_offset)
