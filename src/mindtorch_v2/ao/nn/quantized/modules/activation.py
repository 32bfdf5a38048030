"""Activations of quantized tensors."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.utils import observed

__all__ = ["ELU", "Hardswish", "LeakyReLU", "PReLU", "ReLU6", "Sigmoid", "Softmax"]


class ReLU6(nn.ReLU):
    """The elements, not below 0 nor above 6.

    >>> torch.ao.nn.quantized.ReLU6()(torch.quantize_per_tensor(torch.tensor([-1.0, 9.0]), 0.1, 10, torch.quint8)).int_repr()
    tensor([10, 70], dtype=torch.uint8)
    """

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        return ReLU6(mod.inplace)


class Hardswish(nn.Hardswish):
    """`hardswish` into a range of its own, of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.Hardswish(0.1, 0)
    QuantizedHardswish()
    """

    def __init__(self, scale: Any, zero_point: Any, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(scale, device=device))
        self.register_buffer("zero_point", torch.tensor(zero_point, device=device))

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.hardswish(input, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedHardswish"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        return Hardswish(*observed(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        return cls(float(scale), int(zero_point))


class ELU(nn.ELU):
    """`elu` into a range of its own, of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.ELU(0.1, 0)
    QuantizedELU(alpha=1.0)
    """

    def __init__(self, scale: Any, zero_point: Any, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def forward(self, input: Any) -> Any:
        return torch.ao.nn.quantized.functional.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self) -> str:
        return "QuantizedELU"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        return ELU(*observed(mod), mod.alpha)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        return cls(float(scale), int(zero_point), mod.alpha)


class LeakyReLU(nn.LeakyReLU):
    """`leaky_relu` into a range of its own, of `scale` and `zero_point`.

    >>> torch.ao.nn.quantized.LeakyReLU(0.1, 0)
    QuantizedLeakyReLU(negative_slope=0.01)
    """

    def __init__(
        self,
        scale: float,
        zero_point: int,
        negative_slope: float = 1e-2,
        inplace: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(negative_slope, inplace)
        self.register_buffer("scale", torch.tensor(scale, device=device))
        self.register_buffer("zero_point", torch.tensor(zero_point, device=device))

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.leaky_relu(input, self.negative_slope, self.inplace, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedLeakyReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        return cls(*observed(mod), mod.negative_slope, mod.inplace)

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        return cls(float(scale), int(zero_point), mod.negative_slope, mod.inplace)


class Sigmoid(nn.Sigmoid):
    """`sigmoid` into a range of its own.

    >>> torch.ao.nn.quantized.Sigmoid(1 / 256, 0)
    Sigmoid()
    """

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.output_scale, self.output_zero_point = output_scale, output_zero_point

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        return cls(*observed(mod))


class Softmax(nn.Softmax):
    """`softmax` into a range of its own.

    >>> torch.ao.nn.quantized.Softmax(1, 1 / 256, 0)
    QuantizedSoftmax(dim=1)
    """

    def __init__(self, dim: Any = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__()
        self.dim, self.scale, self.zero_point = dim, scale, zero_point

    def forward(self, input: Any) -> Any:
        dim = self.dim
        if dim is None:
            dim = 0 if input.dim() in (0, 1, 3) else 1
        return torch.ops.quantized.softmax(input, dim, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        return Softmax(mod.dim, *observed(mod))

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        return cls(mod.dim, float(scale), int(zero_point))


class PReLU(nn.Module):
    """`prelu` into a range of its own, with a quantized weight.

    >>> torch.ao.nn.quantized.PReLU(0.1, 0)
    QuantizedPReLU()
    """

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters, self.scale, self.zero_point = num_parameters, output_scale, output_zero_point
        self.set_weight(torch.quantize_per_tensor(torch.randn(num_parameters, dtype=torch.float), 1.0, 0, torch.quint8))

    def set_weight(self, w: Any) -> None:
        """Take a quantized weight."""
        self.weight = w

    def forward(self, input: Any) -> Any:
        return torch.ops.quantized.prelu(input, self.weight, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedPReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        return cls._with(mod, *observed(mod), mod.qconfig.weight())

    @classmethod
    def from_reference(cls, mod: Any, scale: Any, zero_point: Any) -> Self:
        return cls._with(mod, float(scale), int(zero_point), mod.qconfig.weight())

    @classmethod
    def _with(cls, mod: Any, scale: float, zero_point: int, observer: Any) -> Self:
        made = cls(scale, zero_point, mod.num_parameters)
        weight = mod.weight.float()
        observer(weight)
        of_weight = observer.calculate_qparams()
        made.set_weight(torch.quantize_per_tensor(weight, float(of_weight[0]), int(of_weight[1]), torch.quint8))
        return made
