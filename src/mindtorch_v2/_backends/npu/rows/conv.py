"""Convolutions by torch_npu's names."""

from __future__ import annotations

from typing import Any

from ...._operators.table import S, T, aten
from .checks import composite

_NOTHING = [0, 0, 0]


@composite(
    "npu::npu_conv3d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
    "The three-dimensional convolution.",
    samples=[S(T(1, 2, 3, 4, 4), T(3, 2, 2, 2, 2), T(3), [1, 1, 1], [0, 1, 0], [1, 1, 1], 1)],
)
def npu_conv3d(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return aten.convolution(input, weight, bias, stride, padding, dilation, False, _NOTHING, groups)


@composite(
    "npu::npu_convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, int groups) -> "
    "Tensor",
    "The convolution of as many dimensions as the input has behind the second.",
    samples=[S(T(1, 2, 5, 5), T(4, 1, 3, 3), None, [2, 1], [1, 1], [1, 1], 2)],
)
def npu_convolution(input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    return aten.convolution(input, weight, bias, stride, padding, dilation, False, _NOTHING[: input.dim() - 2], groups)


@composite(
    "npu::npu_conv_transpose2d(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] output_padding, int[] stride, "
    "int[] dilation, int groups) -> Tensor",
    "The transposed two-dimensional convolution.",
    samples=[S(T(1, 2, 3, 3), T(2, 3, 3, 3), T(3), [1, 1], [1, 1], [2, 2], [1, 1], 1)],
)
def npu_conv_transpose2d(
    input: Any, weight: Any, bias: Any, padding: Any, output_padding: Any, stride: Any, dilation: Any, groups: int,
) -> Any:  # fmt: skip
    return aten.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)


@composite(
    "npu::npu_convolution_transpose(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] output_padding, int[] stride, "
    "int[] dilation, int groups) -> Tensor",
    "The transposed convolution of as many dimensions as the input has behind the second.",
    samples=[S(T(1, 2, 3, 2, 2), T(2, 1, 2, 2, 2), None, [0, 0, 0], [0, 0, 0], [1, 2, 1], [1, 1, 1], 1)],
)
def npu_convolution_transpose(
    input: Any, weight: Any, bias: Any, padding: Any, output_padding: Any, stride: Any, dilation: Any, groups: int,
) -> Any:  # fmt: skip
    return aten.convolution(input, weight, bias, stride, padding, dilation, True, output_padding, groups)
