"""The linear layer with a weight that is yet to be quantized."""

from __future__ import annotations

from typing import Any, Self

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.reference.modules.utils import ReferenceQuantizedModule
from mindtorch_v2.nn import functional

__all__ = ["Linear"]


class Linear(nn.Linear, ReferenceQuantizedModule):
    """A linear layer of floats by what its quantized weight stands for.

    >>> torch.ao.nn.quantized.reference.Linear(2, 1)
    QuantizedLinear(Reference)(in_features=2, out_features=1, bias=True)
    """

    _IS_REFERENCE = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias_: bool = True,
        device: Any = None,
        dtype: Any = None,
        weight_qparams: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias_, device, dtype)
        self._init_weight_qparams(weight_qparams, device)

    def _get_name(self) -> str:
        return "QuantizedLinear(Reference)"

    def forward(self, x: Any) -> Any:
        return functional.linear(x, self.get_weight(), self.bias)

    @classmethod
    def from_float(cls, float_linear: Any, weight_qparams: dict[str, Any]) -> Self:
        made = cls(
            float_linear.in_features,
            float_linear.out_features,
            float_linear.bias is not None,
            device=float_linear.weight.device,
            dtype=float_linear.weight.dtype,
            weight_qparams=weight_qparams,
        )
        made.weight = nn.Parameter(float_linear.weight.detach())
        if float_linear.bias is not None:
            made.bias = nn.Parameter(float_linear.bias.detach())
        return made
