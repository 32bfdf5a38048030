"""Pooling. A stride that is not given is the size of the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


_CUBE = 1


@kernel("avg_pool2d")
def avg_pool2d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    out: Tensor,
) -> None:
    window = kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad, divisor or 0
    call("aclnnAvgPool2d", self, *window, _CUBE, out)


@kernel("avg_pool2d_backward")
def avg_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    out: Tensor,
) -> None:
    window = kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad, divisor or 0
    call("aclnnAvgPool2dBackward", grad_output, self, *window, _CUBE, out)


@kernel("max_pool2d_with_indices")
def max_pool2d(self: Tensor, kernel_size: Sequence[int], stride: Sequence[int], *rest: Any) -> None:
    call("aclnnMaxPool2dWithIndices", self, kernel_size, stride or kernel_size, *rest)


@kernel("max_pool2d_with_indices_backward")
def max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
    out: Tensor,
) -> None:
    window = kernel_size, stride or kernel_size, padding, dilation, ceil_mode
    call("aclnnMaxPool2dWithIndicesBackward", grad_output, self, indices, *window, out)


aclnn("_adaptive_avg_pool2d", "aclnnAdaptiveAvgPool2d")
aclnn("_adaptive_avg_pool2d_backward", "aclnnAdaptiveAvgPool2dBackward")
aclnn("adaptive_max_pool2d", "aclnnAdaptiveMaxPool2d")
aclnn("adaptive_max_pool2d_backward", "aclnnAdaptiveMaxPool2dBackward")
