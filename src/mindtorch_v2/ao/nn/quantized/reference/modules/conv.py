"""Convolutions with weights that are yet to be quantized."""

from __future__ import annotations

from typing import Any, Self

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.reference.modules.utils import ReferenceQuantizedModule
from mindtorch_v2.nn import functional

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(ReferenceQuantizedModule):
    """A reference convolution: that of floats by what its quantized weight stands for."""

    _IS_REFERENCE = True
    _dims: int

    def __init__(self, *args: Any, weight_qparams: dict[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._init_weight_qparams(weight_qparams, kwargs.get("device"))

    def _get_name(self) -> str:
        return f"QuantizedConv{'Transpose' if self.transposed else ''}{self._dims}d(Reference)"

    def forward(self: Any, x: Any) -> Any:
        """The convolution of a floating tensor."""
        return self._conv_forward(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_conv: Any, weight_qparams: dict[str, Any]) -> Self:
        """The module of a floating one and how its weight is quantized."""
        transposed = (float_conv.output_padding,) if float_conv.transposed else ()
        last: tuple[Any, ...] = (float_conv.dilation, float_conv.groups, float_conv.bias is not None)
        if float_conv.transposed:
            last = (float_conv.groups, float_conv.bias is not None, float_conv.dilation)
        kind: Any = cls
        made: Any = kind(
            float_conv.in_channels,
            float_conv.out_channels,
            float_conv.kernel_size,
            float_conv.stride,
            float_conv.padding,
            *transposed,
            *last,
            float_conv.padding_mode,
            device=float_conv.weight.device,
            dtype=float_conv.weight.dtype,
            weight_qparams=weight_qparams,
        )
        made.weight = nn.Parameter(float_conv.weight.detach())
        if float_conv.bias is not None:
            made.bias = nn.Parameter(float_conv.bias.detach())
        return made


class _ConvTransposeNd(_ConvNd):
    def forward(self: Any, input: Any, output_size: list[int] | None = None) -> Any:
        """The transposed convolution of a floating tensor."""
        x = input
        outer = self._output_padding(
            x, output_size, self.stride, self.padding, self.kernel_size, self._dims, self.dilation
        )
        run = getattr(functional, f"conv_transpose{self._dims}d")
        return run(x, self.get_weight(), self.bias, self.stride, self.padding, outer, self.groups, self.dilation)


class Conv1d(_ConvNd, nn.Conv1d):
    """A convolution of one dimension by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.Conv1d(1, 2, 3)
    QuantizedConv1d(Reference)(1, 2, kernel_size=(3,), stride=(1,))
    """

    _dims = 1


class Conv2d(_ConvNd, nn.Conv2d):
    """A convolution of two dimensions by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.Conv2d(1, 2, 3)
    QuantizedConv2d(Reference)(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """

    _dims = 2


class Conv3d(_ConvNd, nn.Conv3d):
    """A convolution of three dimensions by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.Conv3d(1, 2, 3)
    QuantizedConv3d(Reference)(1, 2, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    _dims = 3


class ConvTranspose1d(_ConvTransposeNd, nn.ConvTranspose1d):  # type: ignore[misc]  # (forward of the float class is narrower)
    """A transposed convolution of one dimension by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.ConvTranspose1d(1, 2, 3)
    QuantizedConvTranspose1d(Reference)(1, 2, kernel_size=(3,), stride=(1,))
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd, nn.ConvTranspose2d):  # type: ignore[misc]  # (forward of the float class is narrower)
    """A transposed convolution of two dimensions by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.ConvTranspose2d(1, 2, 3)
    QuantizedConvTranspose2d(Reference)(1, 2, kernel_size=(3, 3), stride=(1, 1))
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd, nn.ConvTranspose3d):  # type: ignore[misc]  # (forward of the float class is narrower)
    """A transposed convolution of three dimensions by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.ConvTranspose3d(1, 2, 3)
    QuantizedConvTranspose3d(Reference)(1, 2, kernel_size=(3, 3, 3), stride=(1, 1, 1))
    """

    _dims = 3
