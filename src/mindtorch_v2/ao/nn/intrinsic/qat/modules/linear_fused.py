"""The linear layer with a batch norm, for training that is aware of quantization."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.nn.intrinsic.qat.modules._normed import Normed
from mindtorch_v2.ao.nn.qat.modules._base import check_float
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.utils.fusion import fuse_linear_bn_weights

__all__ = ["LinearBn1d"]


class LinearBn1d(Normed, nn.Linear, nni._FusedModule):
    """A linear layer and a batch norm; the weight is rounded as it will be when both are one.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.LinearBn1d(3, 2, qconfig=qconfig)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Any = None,
    ) -> None:
        nn.Linear.__init__(self, in_features, out_features, bias)
        self._begin(out_features, bias, eps, momentum, freeze_bn, qconfig, dim=1)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """The normalized product."""
        _, factor, weight = self._scaled()
        zeros = (
            torch.zeros(self.out_features, device=weight.device) if self.bias is None else torch.zeros_like(self.bias)
        )
        return self._unscaled(F.linear(input, weight, zeros), factor)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module that takes the place of a float one, with its parameters and statistics."""
        text = f"qat.{cls.__name__}.from_float only works for {nni.LinearBn1d.__name__}"
        check_float(mod, type(mod) is nni.LinearBn1d, text, "config")
        linear, norm = mod[0], mod[1]
        made = cls(
            linear.in_features,
            linear.out_features,
            linear.bias is not None,
            norm.eps,
            norm.momentum,
            False,
            mod.qconfig,
        )
        return made._take(linear, norm)

    def to_float(self) -> nn.Linear:
        """A float linear layer with the batch norm in its weight."""
        linear = nn.Linear(self.in_features, self.out_features)
        linear.weight, linear.bias = fuse_linear_bn_weights(self.weight, self.bias, *self._statistics())
        return linear
