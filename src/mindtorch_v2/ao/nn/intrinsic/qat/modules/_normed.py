"""The convolution with a batch norm, for training that is aware of quantization, in any number of dimensions."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.intrinsic import _FusedModule
from mindtorch_v2.ao.nn.qat.modules._base import check_float, needed
from mindtorch_v2.ao.nn.qat.modules.conv import to_float_conv
from mindtorch_v2.nn import init
from mindtorch_v2.nn.utils import fuse_conv_bn_weights

__all__ = ["_ConvBnNd"]

_NORMS = {1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
# Names of old files, by today's.
_OLD_NAMES = {
    "bn.weight": "gamma",
    "bn.bias": "beta",
    "bn.running_mean": "running_mean",
    "bn.running_var": "running_var",
    "bn.num_batches_tracked": "num_batches_tracked",
}


class Normed(nn.Module):
    """The parts that layers with a batch norm share: its switch, and the weight that batch norm's running statistics scale."""

    bn: Any
    weight: Any
    bias: Any
    weight_fake_quant: Any
    freeze_bn: bool

    def _begin(
        self, features: int, bias: bool, eps: float, momentum: float, freeze_bn: bool, qconfig: Any, dim: int
    ) -> None:
        self.qconfig = needed(qconfig)
        self.freeze_bn = freeze_bn if self.training else True
        self.bn = _NORMS[dim](features, eps, momentum, True, True)
        self.weight_fake_quant = qconfig.weight()
        if bias:
            self.bias = nn.Parameter(torch.empty(features))
        else:
            self.register_parameter("bias", None)
        self.reset_bn_parameters()
        if self.training and not freeze_bn:
            self.update_bn_stats()
        else:
            self.freeze_bn_stats()

    def reset_running_stats(self) -> None:
        """Let the batch norm forget what it saw."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self) -> None:
        """Draw the batch norm's parameters anew."""
        self.bn.reset_running_stats()
        init.uniform_(self.bn.weight)
        init.zeros_(self.bn.bias)

    def update_bn_stats(self) -> Self:
        """Normalize by each batch, and move the running statistics."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Self:
        """Normalize by the running statistics, and keep them."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Self:
        """Training mode, or not; a frozen batch norm stays frozen."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def _sizes(self) -> tuple[list[int], list[int]]:
        """Sizes by which a vector of channels goes with the weight, and with the result."""
        rest = [1] * (self.weight.dim() - 2)
        return [-1, 1, *rest], [1, -1, *rest]

    def _scaled(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The running deviation, what it makes of a channel's scale, and the rounded weight of that scale."""
        if self.bn.running_var is None:
            raise AssertionError("self.bn.running_var must not be None")
        deviation = torch.sqrt(self.bn.running_var + self.bn.eps)
        factor = self.bn.weight / deviation
        return deviation, factor, self.weight_fake_quant(self.weight * factor.reshape(self._sizes()[0]))

    def _unscaled(self, result: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        """The result as if the weight had not been scaled, with the bias, normalized."""
        sizes = self._sizes()[1]
        result = result / factor.reshape(sizes)
        if self.bias is not None:
            result = result + self.bias.reshape(sizes)
        return self.bn(result)

    def _take(self, layer: Any, norm: Any) -> Self:
        """Take the parameters and statistics of a float layer and its batch norm."""
        self.weight, self.bias = layer.weight, layer.bias
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            setattr(self.bn, name, getattr(norm, name))
        return self

    def _statistics(self) -> tuple:
        """The arguments of fusing a batch norm into a layer."""
        if self.bn.running_var is None or self.bn.running_mean is None:
            raise AssertionError("self.bn.running_var and self.bn.running_mean must not be None")
        return self.bn.running_mean, self.bn.running_var, self.bn.eps, self.bn.weight, self.bn.bias


class _ConvBnNd(Normed, nn.modules.conv._ConvNd, _FusedModule):
    """A convolution and a batch norm, of which the weight is rounded as it will be when both are one."""

    _version = 2
    _FLOAT_MODULE: ClassVar[type]
    _FLOAT_CONV_MODULE: ClassVar[type]
    _FLOAT_BN_MODULE: ClassVar[type | None]
    _FLOAT_RELU_MODULE: ClassVar[type | None]
    _FUSED_FLOAT_MODULE: ClassVar[type | None]

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
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
        dim: int = 2,
    ) -> None:
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
            False,
            padding_mode,
        )
        self._begin(out_channels, bias, eps, momentum, freeze_bn, qconfig, dim)
        self._enable_slow_path_for_better_numerical_stability = False

    def reset_bn_parameters(self) -> None:
        """Draw the batch norm's parameters, and the bias, anew."""
        super().reset_bn_parameters()
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def _forward(self, input: torch.Tensor) -> torch.Tensor:
        if self._enable_slow_path_for_better_numerical_stability:
            return self._forward_slow(input)
        return self._forward_approximate(input)

    def _forward_approximate(self, input: torch.Tensor) -> torch.Tensor:
        """One convolution, whose result is divided by the factors of the weight; they may be small."""
        _, factor, weight = self._scaled()
        zeros = (
            torch.zeros(self.out_channels, device=weight.device, dtype=input.dtype)
            if self.bias is None
            else torch.zeros_like(self.bias, dtype=input.dtype)
        )
        return self._unscaled(self._conv_forward(input, weight, zeros), factor)

    def _forward_slow(self, input: torch.Tensor) -> torch.Tensor:
        """Two convolutions, and no division by factors of the weight."""
        for name in ("running_var", "running_mean"):
            if getattr(self.bn, name) is None:
                raise AssertionError(f"self.bn.{name} must not be None")
        zeros = torch.zeros(self.out_channels, device=self.weight.device, dtype=input.dtype)
        sizes = self._sizes()[1]
        if self.bn.training:
            plain = self._conv_forward(input, self.weight, zeros)
            with torch.no_grad():  # moves the running statistics, by which the weight is scaled
                self.bn(plain if self.bias is None else plain + self.bias.reshape(sizes))
            running, _, weight = self._scaled()
            result = self._conv_forward(input, weight, zeros)
            dims = [0, *range(2, self.weight.dim())]
            mean = plain.mean(dims)
            deviation = torch.sqrt(torch.square(plain - mean.reshape(sizes)).mean(dims) + self.bn.eps)
            result *= (running / deviation).reshape(sizes)
        else:
            deviation, _, weight = self._scaled()
            result = self._conv_forward(input, weight, zeros)
            mean = self.bn.running_mean - (0 if self.bias is None else self.bias)
        result += (self.bn.bias - self.bn.weight * mean / deviation).reshape(sizes)
        if self.bias is not None:  # which has no part in it, but a gradient: of zeros
            result += (self.bias - self.bias).reshape(sizes)
        return result

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The normalized convolution."""
        return self._forward(input)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version", None) in (None, 1):
            for name, old in _OLD_NAMES.items():
                if prefix + old in state_dict:
                    state_dict[prefix + name] = state_dict.pop(prefix + old)
                elif prefix + name not in state_dict and strict:
                    missing_keys.append(prefix + name)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module that takes the place of a float one, with its parameters and statistics."""
        text = f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}"
        check_float(mod, type(mod) is cls._FLOAT_MODULE, text)
        conv, norm = mod[0], mod[1]
        made: Any = cls(
            conv.in_channels,
            conv.out_channels,
            conv.kernel_size,
            conv.stride,
            conv.padding,
            conv.dilation,
            conv.groups,
            conv.bias is not None,
            conv.padding_mode,
            norm.eps,
            norm.momentum,
            False,
            mod.qconfig,
        )
        return made._take(conv, norm)

    def to_float(self) -> Any:
        """A float convolution with the batch norm in its weight, and a ReLU where there is one."""
        kind = type(self)
        conv = to_float_conv(self, kind._FLOAT_CONV_MODULE)
        if kind._FLOAT_BN_MODULE:
            conv.weight, conv.bias = fuse_conv_bn_weights(conv.weight, conv.bias, *self._statistics())
        if kind._FLOAT_RELU_MODULE:
            assert kind._FUSED_FLOAT_MODULE is not None
            conv = kind._FUSED_FLOAT_MODULE(conv, kind._FLOAT_RELU_MODULE())
        conv.train(self.training)
        return conv
