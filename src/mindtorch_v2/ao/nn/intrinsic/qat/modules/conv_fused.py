"""Convolutions with what follows them, for training that is aware of quantization."""

from __future__ import annotations

from typing import Any, ClassVar

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.nn import qat as nnqat
from mindtorch_v2.ao.nn.intrinsic.qat.modules._normed import _ConvBnNd
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.modules.utils import _pair, _single, _triple

__all__ = [
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "freeze_bn_stats",
    "update_bn_stats",
]


class ConvBn1d(_ConvBnNd, nn.Conv1d):
    """A convolution and a batch norm; the weight is rounded as it will be when both are one.

    The batch norm's scale over its running deviation scales the weight before it is rounded, and is divided out of the result.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvBn1d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2)).shape
    torch.Size([2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvBn1d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv1d
    _FLOAT_BN_MODULE: ClassVar[type | None] = nn.BatchNorm1d
    _FLOAT_RELU_MODULE: ClassVar[type | None] = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        _ConvBnNd.__init__(
            self,
            in_channels,
            out_channels,
            _single(kernel_size),
            _single(stride),
            _single(padding),
            _single(dilation),
            False,
            _single(0),
            groups,
            bias,
            padding_mode,
            eps,
            momentum,
            freeze_bn,
            qconfig,
            dim=1,
        )


class ConvBnReLU1d(ConvBn1d):
    """`ConvBn1d` and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvBnReLU1d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2)).shape
    torch.Size([2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvBnReLU1d
    _FLOAT_RELU_MODULE: ClassVar[type | None] = nn.ReLU
    _FUSED_FLOAT_MODULE: ClassVar[type | None] = nni.ConvReLU1d

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(self._forward(input))


class ConvReLU1d(nnqat.Conv1d, nni._FusedModule):
    """A convolution, whose weight is rounded, and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvReLU1d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2)).shape
    torch.Size([2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvReLU1d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv1d
    _FLOAT_BN_MODULE: ClassVar[type | None] = None
    _FLOAT_RELU_MODULE: ClassVar[type | None] = nn.ReLU

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
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            qconfig=qconfig,
        )
        self.weight_fake_quant = self.qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


class ConvBn2d(_ConvBnNd, nn.Conv2d):
    """A convolution and a batch norm; the weight is rounded as it will be when both are one.

    The batch norm's scale over its running deviation scales the weight before it is rounded, and is divided out of the result.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvBn2d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2, 2)).shape
    torch.Size([2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvBn2d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv2d
    _FLOAT_BN_MODULE: ClassVar[type | None] = nn.BatchNorm2d
    _FLOAT_RELU_MODULE: ClassVar[type | None] = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        _ConvBnNd.__init__(
            self,
            in_channels,
            out_channels,
            _pair(kernel_size),
            _pair(stride),
            _pair(padding),
            _pair(dilation),
            False,
            _pair(0),
            groups,
            bias,
            padding_mode,
            eps,
            momentum,
            freeze_bn,
            qconfig,
            dim=2,
        )


class ConvBnReLU2d(ConvBn2d):
    """`ConvBn2d` and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvBnReLU2d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2, 2)).shape
    torch.Size([2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvBnReLU2d
    _FLOAT_RELU_MODULE: ClassVar[type | None] = nn.ReLU
    _FUSED_FLOAT_MODULE: ClassVar[type | None] = nni.ConvReLU2d

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(self._forward(input))


class ConvReLU2d(nnqat.Conv2d, nni._FusedModule):
    """A convolution, whose weight is rounded, and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvReLU2d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2, 2)).shape
    torch.Size([2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvReLU2d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv2d
    _FLOAT_BN_MODULE: ClassVar[type | None] = None
    _FLOAT_RELU_MODULE: ClassVar[type | None] = nn.ReLU

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
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            qconfig=qconfig,
        )
        self.weight_fake_quant = self.qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


class ConvBn3d(_ConvBnNd, nn.Conv3d):
    """A convolution and a batch norm; the weight is rounded as it will be when both are one.

    The batch norm's scale over its running deviation scales the weight before it is rounded, and is divided out of the result.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvBn3d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2, 2, 2)).shape
    torch.Size([2, 2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvBn3d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv3d
    _FLOAT_BN_MODULE: ClassVar[type | None] = nn.BatchNorm3d
    _FLOAT_RELU_MODULE: ClassVar[type | None] = None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: Any = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        _ConvBnNd.__init__(
            self,
            in_channels,
            out_channels,
            _triple(kernel_size),
            _triple(stride),
            _triple(padding),
            _triple(dilation),
            False,
            _triple(0),
            groups,
            bias,
            padding_mode,
            eps,
            momentum,
            freeze_bn,
            qconfig,
            dim=3,
        )


class ConvBnReLU3d(ConvBn3d):
    """`ConvBn3d` and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvBnReLU3d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2, 2, 2)).shape
    torch.Size([2, 2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvBnReLU3d
    _FLOAT_RELU_MODULE: ClassVar[type | None] = nn.ReLU
    _FUSED_FLOAT_MODULE: ClassVar[type | None] = nni.ConvReLU3d

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(self._forward(input))


class ConvReLU3d(nnqat.Conv3d, nni._FusedModule):
    """A convolution, whose weight is rounded, and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.ConvReLU3d(1, 2, 1, qconfig=qconfig)(torch.ones(2, 1, 2, 2, 2)).shape
    torch.Size([2, 2, 2, 2, 2])
    """

    _FLOAT_MODULE: ClassVar[type] = nni.ConvReLU3d
    _FLOAT_CONV_MODULE: ClassVar[type] = nn.Conv3d
    _FLOAT_BN_MODULE: ClassVar[type | None] = None
    _FLOAT_RELU_MODULE: ClassVar[type | None] = nn.ReLU

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
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride=stride,
            padding=padding,
            dilation=dilation,
            groups=groups,
            bias=bias,
            padding_mode=padding_mode,
            qconfig=qconfig,
        )
        self.weight_fake_quant = self.qconfig.weight()

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(self._conv_forward(input, self.weight_fake_quant(self.weight), self.bias))


_NORMED = (ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d, ConvBn1d, ConvBn2d, ConvBn3d)


def update_bn_stats(mod: nn.Module) -> None:
    """Let a module's batch norm move its statistics, if it has one; for `Module.apply`.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> module = torch.ao.nn.intrinsic.qat.ConvBn2d(1, 2, 1, qconfig=qconfig, freeze_bn=True)
    >>> module.apply(torch.ao.nn.intrinsic.qat.update_bn_stats).bn.training
    True
    """
    if type(mod) in _NORMED:
        mod.update_bn_stats()


def freeze_bn_stats(mod: nn.Module) -> None:
    """Let a module's batch norm keep its statistics, if it has one; for `Module.apply`.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> module = torch.ao.nn.intrinsic.qat.ConvBn2d(1, 2, 1, qconfig=qconfig)
    >>> module.apply(torch.ao.nn.intrinsic.qat.freeze_bn_stats).bn.training
    False
    """
    if type(mod) in _NORMED:
        mod.freeze_bn_stats()
