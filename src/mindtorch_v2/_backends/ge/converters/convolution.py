"""Convolutions of images, and their gradients."""

from __future__ import annotations

from typing import Any

from .. import apis as ge
from ._table import converts
from .network import summed


def _settings(rank: int, stride: Any, padding: Any, dilation: Any, transposed: bool, groups: int) -> dict[str, Any]:
    if rank != 4 or transposed:
        raise NotImplementedError(f"a {'transposed ' * transposed}convolution over {rank - 2} dimensions")
    rows, columns = (list(padding) * 2)[:2]
    return {
        "strides": [1, 1, *(list(stride) * 2)[:2]],
        "pads": [rows, rows, columns, columns],
        "dilations": [1, 1, *(list(dilation) * 2)[:2]],
        "groups": groups,
        "data_format": "NCHW",
    }


@converts("convolution.default")
def convolution(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    settings = _settings(input.rank, stride, padding, dilation, transposed, groups)
    return ge.function("Conv2D")(input, weight, bias, **settings)


@converts("convolution_backward.default")
def convolution_backward(
    grad_output: Any,
    input: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
    *,
    meta_outputs: Any = None,
) -> Any:
    settings = _settings(input.rank, stride, padding, dilation, transposed, groups)
    wanted = [each is not None and asked for each, asked in zip(meta_outputs, output_mask, strict=True)]
    by_input, by_weight = ge.function("Conv2DBackpropInput"), ge.function("Conv2DBackpropFilter")
    return (
        by_input(list(input.shape), weight, grad_output, **settings) if wanted[0] else None,
        by_weight(input, list(weight.shape), grad_output, **settings) if wanted[1] else None,
        summed(grad_output, [0, 2, 3]) if wanted[2] else None,
    )
