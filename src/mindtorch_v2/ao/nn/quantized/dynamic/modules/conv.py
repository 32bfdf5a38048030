"""Convolutions with 8-bit weights, whose inputs are quantized when they come."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.nn.quantized.modules import conv as static

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _Dynamic:
    """A dynamically quantized convolution of any number of dimensions."""

    def _get_name(self: Any) -> str:
        return f"DynamicQuantizedConv{'Transpose' if self._transposed else ''}{self._dims}d"

    def forward(self: Any, input: Any, reduce_range: bool = True) -> Any:
        """The convolution of a tensor of float32."""
        run = getattr(torch.ops.quantized, f"{self._operators}_dynamic")
        return run(self._input(input), self._packed_params, reduce_range)


class Conv1d(_Dynamic, static.Conv1d):
    """A convolution of one dimension with an 8-bit weight; arguments as of `torch.nn.Conv1d`.

    >>> torch.ao.nn.quantized.dynamic.Conv1d(2, 3, 3)(torch.ones(1, 2, 8)).shape
    torch.Size([1, 3, 6])
    """


class Conv2d(_Dynamic, static.Conv2d):
    """A convolution of two dimensions with an 8-bit weight; arguments as of `torch.nn.Conv2d`.

    >>> torch.ao.nn.quantized.dynamic.Conv2d(2, 3, 3)(torch.ones(1, 2, 8, 8)).shape
    torch.Size([1, 3, 6, 6])
    """


class Conv3d(_Dynamic, static.Conv3d):
    """A convolution of three dimensions with an 8-bit weight; arguments as of `torch.nn.Conv3d`.

    >>> torch.ao.nn.quantized.dynamic.Conv3d(2, 3, 1)(torch.ones(1, 2, 2, 2, 2)).shape
    torch.Size([1, 3, 2, 2, 2])
    """


class ConvTranspose1d(_Dynamic, static.ConvTranspose1d):
    """A transposed convolution of one dimension with an 8-bit weight; arguments as of `torch.nn.ConvTranspose1d`.

    >>> torch.ao.nn.quantized.dynamic.ConvTranspose1d(2, 3, 3)(torch.ones(1, 2, 8)).shape
    torch.Size([1, 3, 10])
    """


class ConvTranspose2d(_Dynamic, static.ConvTranspose2d):
    """A transposed convolution of two dimensions with an 8-bit weight; arguments as of `torch.nn.ConvTranspose2d`.

    >>> torch.ao.nn.quantized.dynamic.ConvTranspose2d(2, 3, 2, stride=2)(torch.ones(1, 2, 4, 4)).shape
    torch.Size([1, 3, 8, 8])
    """


class ConvTranspose3d(_Dynamic, static.ConvTranspose3d):
    """A transposed convolution of three dimensions with an 8-bit weight; arguments as of `torch.nn.ConvTranspose3d`.

    >>> torch.ao.nn.quantized.dynamic.ConvTranspose3d(2, 3, 1)(torch.ones(1, 2, 2, 2, 2)).shape
    torch.Size([1, 3, 2, 2, 2])
    """
