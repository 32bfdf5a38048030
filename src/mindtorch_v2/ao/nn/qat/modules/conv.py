"""Convolutions with a weight that is rounded as it will be when it is quantized."""

from __future__ import annotations

from typing import Any, ClassVar

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.intrinsic import _FusedModule
from mindtorch_v2.ao.nn.qat.modules._base import check_float, needed
from mindtorch_v2.nn.modules.utils import _pair, _single, _triple

__all__ = ["Conv1d", "Conv2d", "Conv3d"]


def to_float_conv(made: Any, kind: type[nn.Module]) -> Any:
    """A float convolution with the weight and the bias of a module."""
    conv: Any = kind(
        made.in_channels,
        made.out_channels,
        made.kernel_size,
        made.stride,
        made.padding,
        made.dilation,
        made.groups,
        made.bias is not None,
        made.padding_mode,
    )
    conv.weight = nn.Parameter(made.weight.detach())
    if made.bias is not None:
        conv.bias = nn.Parameter(made.bias.detach())
    return conv


class _ConvNd(nn.modules.conv._ConvNd):
    _FLOAT_MODULE: ClassVar[type]
    _FLOAT_CONV_MODULE: ClassVar[type]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        output_padding: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        nn.modules.conv._ConvNd.__init__(
            self,
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
            bias,
            padding_mode,
            **where,
        )
        self.qconfig = needed(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs=where)

    def forward(self, input: Any) -> Any:
        """The convolution with the rounded weight."""
        return self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias)

    @staticmethod
    def from_float(cls: Any, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module that takes the place of a float one, with its parameters."""
        text = f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, got {type(mod).__name__}"
        check_float(mod, type(mod) is cls._FLOAT_MODULE, text)
        conv = mod[0] if isinstance(mod, _FusedModule) else mod
        made = cls(
            conv.in_channels,
            conv.out_channels,
            conv.kernel_size,
            stride=conv.stride,
            padding=conv.padding,
            dilation=conv.dilation,
            groups=conv.groups,
            bias=conv.bias is not None,
            padding_mode=conv.padding_mode,
            qconfig=conv.qconfig,
        )
        made.weight, made.bias = conv.weight, conv.bias
        return made

    def to_float(self) -> Any:
        """A float module with these parameters."""
        kind: Any = type(self)
        conv = to_float_conv(self, kind._FLOAT_CONV_MODULE)
        if not issubclass(kind, _FusedModule):
            return conv
        if not hasattr(kind, "_FLOAT_RELU_MODULE"):
            raise AssertionError(f"{kind.__name__} must have _FLOAT_RELU_MODULE attribute")
        fused = kind._FLOAT_MODULE(conv, kind._FLOAT_RELU_MODULE())
        fused.train(self.training)
        return fused


class Conv1d(_ConvNd, nn.Conv1d):
    """`torch.nn.Conv1d` whose weight is rounded by `qconfig.weight`; its result is observed by `prepare_qat`.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.qat.Conv1d(1, 2, 1, qconfig=qconfig)(torch.ones(1, 1, 2)).shape
    torch.Size([1, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nn.Conv1d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv1d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _single(kernel_size),
            stride=_single(stride),
            padding=padding if isinstance(padding, str) else _single(padding),
            dilation=_single(dilation),
            transposed=False,
            output_padding=_single(0),
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            qconfig=qconfig,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:  # type: ignore[override]  # (a class method, as PyTorch's)
        """The module that takes the place of a float one, with its parameters."""
        return super().from_float(cls, mod, use_precomputed_fake_quant)


class Conv2d(_ConvNd, nn.Conv2d):
    """`torch.nn.Conv2d` whose weight is rounded by `qconfig.weight`; its result is observed by `prepare_qat`.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.qat.Conv2d(1, 2, 1, qconfig=qconfig)(torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nn.Conv2d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv2d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _pair(kernel_size),
            stride=_pair(stride),
            padding=padding if isinstance(padding, str) else _pair(padding),
            dilation=_pair(dilation),
            transposed=False,
            output_padding=_pair(0),
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            qconfig=qconfig,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:  # type: ignore[override]  # (a class method, as PyTorch's)
        """The module that takes the place of a float one, with its parameters."""
        return super().from_float(cls, mod, use_precomputed_fake_quant)


class Conv3d(_ConvNd, nn.Conv3d):
    """`torch.nn.Conv3d` whose weight is rounded by `qconfig.weight`; its result is observed by `prepare_qat`.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.qat.Conv3d(1, 2, 1, qconfig=qconfig)(torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nn.Conv3d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv3d

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            _triple(kernel_size),
            stride=_triple(stride),
            padding=padding if isinstance(padding, str) else _triple(padding),
            dilation=_triple(dilation),
            transposed=False,
            output_padding=_triple(0),
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            qconfig=qconfig,
            device=device,
            dtype=dtype,
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:  # type: ignore[override]  # (a class method, as PyTorch's)
        """The module that takes the place of a float one, with its parameters."""
        return super().from_float(cls, mod, use_precomputed_fake_quant)
