"""Convolution layers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


class _ConvNd(Module):
    """Arguments, parameters and text of all convolutions."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        valid_padding_strings = {"same", "valid"}
        if isinstance(padding, str):
            if padding not in valid_padding_strings:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {valid_padding_strings}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        valid_padding_modes = {"zeros", "reflect", "replicate", "circular"}
        if padding_mode not in valid_padding_modes:
            raise ValueError(
                f"padding_mode must be one of {valid_padding_modes}, but got padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # For the padding modes that `pad` carries out: both sides of each dimension, the last one first.
        self._reversed_padding_repeated_twice = self._padding_for_pad()
        if transposed:
            weight_shape = (in_channels, out_channels // groups, *kernel_size)
        else:
            weight_shape = (out_channels, in_channels // groups, *kernel_size)
        self.weight = Parameter(torch.empty(weight_shape, **factory_kwargs))
        if bias:
            self.bias = Parameter(torch.empty(out_channels, **factory_kwargs))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _padding_for_pad(self):
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        result = [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            for i, (d, k) in enumerate(zip(self.dilation, self.kernel_size, strict=True)):
                total = d * (k - 1)
                place = 2 * (len(self.kernel_size) - 1 - i)
                # Where the total is odd, the right side gets one more.
                result[place] = total // 2
                result[place + 1] = total - total // 2
        return result

    def reset_parameters(self) -> None:
        """Draw new values for the parameters, uniform in +-1/sqrt(channels in a group times kernel elements)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        s = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            s += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            s += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            s += f", output_padding={self.output_padding}"
        if self.groups != 1:
            s += f", groups={self.groups}"
        if self.bias is None:
            s += ", bias=False"
        if self.padding_mode != "zeros":
            s += f", padding_mode={self.padding_mode}"
        return s

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "padding_mode"):
            self.padding_mode = "zeros"


class _Conv(_ConvNd):
    """The base of `Conv1d` to `Conv3d`; `_ntuple` makes a size for each of their dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        ntuple = self._ntuple
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size),
            ntuple(stride),
            padding if isinstance(padding, str) else ntuple(padding),
            ntuple(dilation),
            False,
            ntuple(0),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _through(self, conv, input, weight, bias) -> torch.Tensor:
        """`conv` with the layer's arguments, and `pad` before it for the modes that convolutions do not know."""
        if self.padding_mode != "zeros":
            padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            return conv(padded, weight, bias, self.stride, self._ntuple(0), self.dilation, self.groups)
        return conv(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Cross-correlation over one spatial dimension: `(N, C_in, L)` or `(C_in, L)`.

    `padding` is an int or tuple, "valid" or "same"; `weight` is `(out_channels, in_channels / groups, *kernel_size)`.

    >>> torch.nn.Conv1d(3, 8, kernel_size=5)(torch.ones(2, 3, 100)).shape
    torch.Size([2, 8, 96])
    """

    _ntuple = staticmethod(_single)

    def _conv_forward(self, input, weight, bias) -> torch.Tensor:
        return self._through(F.conv1d, input, weight, bias)


class Conv2d(_Conv):
    """Cross-correlation over two spatial dimensions: `(N, C_in, H, W)` or `(C_in, H, W)`.

    `padding` is an int or tuple, "valid" or "same"; `weight` is `(out_channels, in_channels / groups, *kernel_size)`.

    >>> torch.nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)(torch.ones(2, 3, 32, 32)).shape
    torch.Size([2, 8, 16, 16])
    """

    _ntuple = staticmethod(_pair)

    def _conv_forward(self, input, weight, bias) -> torch.Tensor:
        return self._through(F.conv2d, input, weight, bias)


class Conv3d(_Conv):
    """Cross-correlation over three spatial dimensions: `(N, C_in, D, H, W)` or `(C_in, D, H, W)`.

    `padding` is an int or tuple, "valid" or "same"; `weight` is `(out_channels, in_channels / groups, *kernel_size)`.

    >>> torch.nn.Conv3d(3, 8, kernel_size=3)(torch.ones(2, 3, 8, 8, 8)).shape
    torch.Size([2, 8, 6, 6, 6])
    """

    _ntuple = staticmethod(_triple)

    def _conv_forward(self, input, weight, bias) -> torch.Tensor:
        return self._through(F.conv3d, input, weight, bias)


class _ConvTransposeNd(_ConvNd):
    """The base of the transposed convolutions: the output size, which more than one input size can lead to."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {self.__class__.__name__}')
        ntuple = self._ntuple
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size),
            ntuple(stride),
            ntuple(padding),
            ntuple(dilation),
            True,
            ntuple(output_padding),
            groups,
            bias,
            padding_mode,
            device=device,
            dtype=dtype,
        )

    def _through(self, conv, input, output_size) -> torch.Tensor:
        """`conv` with the layer's arguments and the output padding that gives `output_size`."""
        output_padding = self._output_padding(
            input, output_size, self.stride, self.padding, self.kernel_size, len(self.kernel_size), self.dilation
        )
        return conv(
            input, self.weight, self.bias, self.stride, self.padding, output_padding, self.groups, self.dilation
        )

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        """The output padding that gives `output_size` (spatial, or with the first dimensions)."""
        if output_size is None:
            return _single(self.output_padding)
        has_batch_dim = input.dim() == num_spatial_dims + 2
        num_non_spatial_dims = 2 if has_batch_dim else 1
        if len(output_size) == num_non_spatial_dims + num_spatial_dims:
            output_size = output_size[num_non_spatial_dims:]
        if len(output_size) != num_spatial_dims:
            raise ValueError(
                f"ConvTranspose{num_spatial_dims}D: for {input.dim()}D input, output_size must have "
                f"{num_spatial_dims} or {num_non_spatial_dims + num_spatial_dims} elements (got {len(output_size)})"
            )
        min_sizes = []
        max_sizes = []
        for d in range(num_spatial_dims):
            dim_size = (
                (input.size(d + num_non_spatial_dims) - 1) * stride[d]
                - 2 * padding[d]
                + (dilation[d] if dilation is not None else 1) * (kernel_size[d] - 1)
                + 1
            )
            min_sizes.append(dim_size)
            max_sizes.append(dim_size + stride[d] - 1)
        for size, low, high in zip(output_size, min_sizes, max_sizes, strict=True):
            if size < low or size > high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range "
                    f"from {min_sizes} to {max_sizes} (for an input of {input.size()[2:]})"
                )
        return [size - low for size, low in zip(output_size, min_sizes, strict=True)]


class _ConvTransposeMixin(_ConvTransposeNd):
    """`_ConvTransposeNd` under its older name, by which programs ask for the class of a layer; making one warns."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        text = "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs."
        warnings.warn(text, FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` with respect to its input, as a layer: `(N, C_in, L)` or `(C_in, L)`.

    `weight` is `(in_channels, out_channels / groups, *kernel_size)`; the output size may be given to `forward`.

    >>> torch.nn.ConvTranspose1d(3, 8, kernel_size=2, stride=2)(torch.ones(2, 3, 10)).shape
    torch.Size([2, 8, 20])
    """

    _ntuple = staticmethod(_single)

    def forward(self, input: torch.Tensor, output_size: Sequence[int] | None = None) -> torch.Tensor:
        return self._through(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` with respect to its input, as a layer: `(N, C_in, H, W)` or `(C_in, H, W)`.

    `weight` is `(in_channels, out_channels / groups, *kernel_size)`; the output size may be given to `forward`.

    >>> torch.nn.ConvTranspose2d(3, 8, kernel_size=2, stride=2)(torch.ones(2, 3, 16, 16)).shape
    torch.Size([2, 8, 32, 32])
    """

    _ntuple = staticmethod(_pair)

    def forward(self, input: torch.Tensor, output_size: Sequence[int] | None = None) -> torch.Tensor:
        return self._through(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of `Conv3d` with respect to its input, as a layer: `(N, C_in, D, H, W)` or `(C_in, D, H, W)`.

    `weight` is `(in_channels, out_channels / groups, *kernel_size)`; the output size may be given to `forward`.

    >>> torch.nn.ConvTranspose3d(3, 8, kernel_size=2, stride=2)(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 8, 8, 8, 8])
    """

    _ntuple = staticmethod(_triple)

    def forward(self, input: torch.Tensor, output_size: Sequence[int] | None = None) -> torch.Tensor:
        return self._through(F.conv_transpose3d, input, output_size)


class _LazyConvXdMixin(LazyModuleMixin):
    """The base of the lazy convolutions: `in_channels` comes from the first input."""

    weight: Any
    bias: Any

    def reset_parameters(self) -> None:
        # The parent draws values in its own __init__, when there is nothing to draw for yet.
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]  # (of the convolution that it is mixed into)

    def initialize_parameters(self, input: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.in_channels = self._get_in_channels(input)
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if self.transposed:
            shape = (self.in_channels, self.out_channels // self.groups, *self.kernel_size)
        else:
            shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        self.weight.materialize(shape)
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _get_in_channels(self, input) -> int:
        num_dims_no_batch = len(self.kernel_size) + 1
        num_dims_batch = num_dims_no_batch + 1
        if input.dim() not in (num_dims_no_batch, num_dims_batch):
            raise RuntimeError(
                f"Expected {num_dims_no_batch}D (unbatched) or {num_dims_batch}D (batched) input "
                f"to {self.__class__.__name__}, but got input of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == num_dims_batch else input.shape[0]

    def _make_lazy(self, out_channels, bias, factory_kwargs) -> None:
        self.weight = UninitializedParameter(**factory_kwargs)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(**factory_kwargs)


class _LazyConv(_LazyConvXdMixin):
    """The arguments of `LazyConv1d` to `LazyConv3d`."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        # The bias waits too; the parent would draw it now.
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, **factory_kwargs)
        self._make_lazy(out_channels, bias, factory_kwargs)


class LazyConv1d(_LazyConv, Conv1d):
    """A `Conv1d` that takes `in_channels` from its first input.

    >>> layer = torch.nn.LazyConv1d(8, 3)
    >>> layer(torch.ones(2, 3, 10)).shape, layer.in_channels
    (torch.Size([2, 8, 8]), 3)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A `Conv2d` that takes `in_channels` from its first input.

    >>> layer = torch.nn.LazyConv2d(8, 3)
    >>> layer(torch.ones(2, 3, 10, 10)).shape, layer.in_channels
    (torch.Size([2, 8, 8, 8]), 3)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A `Conv3d` that takes `in_channels` from its first input.

    >>> layer = torch.nn.LazyConv3d(8, 3)
    >>> layer(torch.ones(2, 3, 5, 5, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 3, 3, 3]), 3)
    """

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvXdMixin):
    """The arguments of `LazyConvTranspose1d` to `LazyConvTranspose3d`."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        factory_kwargs: dict[str, Any] = {"device": device, "dtype": dtype}
        # The bias waits too; the parent would draw it now.
        super().__init__(
            0,
            0,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            False,
            dilation,
            padding_mode,
            **factory_kwargs,
        )
        self._make_lazy(out_channels, bias, factory_kwargs)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` that takes `in_channels` from its first input.

    >>> layer = torch.nn.LazyConvTranspose1d(8, 3)
    >>> layer(torch.ones(2, 3, 10)).shape, layer.in_channels
    (torch.Size([2, 8, 12]), 3)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` that takes `in_channels` from its first input.

    >>> layer = torch.nn.LazyConvTranspose2d(8, 3)
    >>> layer(torch.ones(2, 3, 10, 10)).shape, layer.in_channels
    (torch.Size([2, 8, 12, 12]), 3)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` that takes `in_channels` from its first input.

    >>> layer = torch.nn.LazyConvTranspose3d(8, 3)
    >>> layer(torch.ones(2, 3, 5, 5, 5)).shape, layer.in_channels
    (torch.Size([2, 8, 7, 7, 7]), 3)
    """

    cls_to_become = ConvTranspose3d
