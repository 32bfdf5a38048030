"""The linear layer with a weight that is rounded as it will be when it is quantized."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.intrinsic import LinearReLU
from mindtorch_v2.ao.nn.qat.modules._base import check_float, needed
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.utils.parametrize import (
    is_parametrized,
    transfer_parametrizations_and_params,
    type_before_parametrizations,
)

__all__ = ["Linear"]


def to_float_linear(made: Any) -> nn.Linear:
    """A float linear layer with the weight and the bias of a module."""
    linear = nn.Linear(made.in_features, made.out_features, made.bias is not None)
    linear.weight = nn.Parameter(made.weight.detach())
    if made.bias is not None:
        linear.bias = nn.Parameter(made.bias.detach())
    return linear


class Linear(nn.Linear):
    """`torch.nn.Linear` whose weight is rounded by `qconfig.weight`; its result is observed by `prepare_qat`.

    >>> qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> torch.ao.nn.qat.Linear(3, 2, qconfig=qconfig)(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    """

    _FLOAT_MODULE: Any = nn.Linear

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        qconfig: Any = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        super().__init__(in_features, out_features, bias, **where)
        self.qconfig = needed(qconfig)
        self.weight_fake_quant = qconfig.weight(factory_kwargs=where)

    def forward(self, input: Any) -> Any:
        """The product with the rounded weight."""
        return F.linear(input, self.weight_fake_quant(self.weight), self.bias)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The module that takes the place of a float one, with its parameters."""
        kind = type_before_parametrizations(mod)
        text = f"qat.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, got {kind.__name__}"
        check_float(mod, kind == cls._FLOAT_MODULE, text)
        linear = mod[0] if kind == LinearReLU else mod
        made = cls(linear.in_features, linear.out_features, bias=linear.bias is not None, qconfig=linear.qconfig)
        for name in ("weight", "bias"):
            if is_parametrized(linear, name):
                transfer_parametrizations_and_params(linear, made, name)
            else:
                setattr(made, name, getattr(linear, name))
        return made

    def to_float(self) -> Any:
        """A float module with these parameters."""
        made = to_float_linear(self)
        made.train(self.training)
        return made
