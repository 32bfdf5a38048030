"""The linear layer with a ReLU, for training that is aware of quantization."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.nn import qat as nnqat
from mindtorch_v2.ao.nn.qat.modules.linear import to_float_linear
from mindtorch_v2.nn import functional as F

__all__ = ["LinearReLU"]


class LinearReLU(nnqat.Linear, nni._FusedModule):
    """A linear layer, whose weight is rounded, and a ReLU.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.intrinsic.qat.LinearReLU(3, 2, qconfig=qconfig)(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    """

    _FLOAT_MODULE: Any = nni.LinearReLU

    def __init__(self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None) -> None:
        super().__init__(in_features, out_features, bias, qconfig)

    def forward(self, input: Any) -> Any:
        """The result of the ReLU."""
        return F.relu(F.linear(input, self.weight_fake_quant(self.weight), self.bias))

    def to_float(self) -> Any:
        """A float linear layer and a ReLU."""
        return nni.LinearReLU(to_float_linear(self), nn.ReLU())
