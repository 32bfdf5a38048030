"""Linear layers of 8-bit numbers (or of packed 4-bit ones), times a scale."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["LinearA8W8Quant", "LinearQuant", "LinearWeightQuant"]


def _given(module: nn.Module, name: str, asked: bool, made: Tensor) -> None:
    """A parameter without gradient, or None where it was not asked for."""
    module.register_parameter(name, nn.Parameter(made, False) if asked else None)


class LinearQuant(nn.Module):
    """Products of int8 numbers, or of int4 ones that come eight to an int32, times `scale`: `npu_quant_matmul`.

    Weight, scale and the others are to be set (`layer.weight.data = ...`); they are floating numbers at first.

    Shape:
        (..., in_features); (..., out_features). The weight is (out_features, in_features).
    """

    _ALLOWED: tuple[torch.dtype, ...] = (torch.int8, torch.int32)

    def __init__(
        self, in_features: int, out_features: int, *, bias: bool = True, offset: bool = False, pertoken_scale: bool = False,
        device: torch.device | str | None = None, dtype: torch.dtype | None = None, output_dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features, self.out_features, self.output_dtype = in_features, out_features, output_dtype
        _given(self, "weight", True, torch.empty(out_features, in_features))
        _given(self, "scale", True, torch.empty(out_features))
        _given(self, "offset", offset, torch.empty(out_features))
        _given(self, "pertoken_scale", pertoken_scale, torch.empty(out_features))
        _given(self, "bias", bias, torch.empty(out_features, dtype=torch.int32))

    def forward(self, linear_quant_input: Tensor) -> Tensor:
        """The products in `output_dtype`; ValueError for other dtypes than the layer's."""
        x, weight, scale = linear_quant_input, self.weight, self.scale
        if x.dtype != weight.dtype or x.dtype not in self._ALLOWED:
            allowed = " or ".join(map(str, self._ALLOWED))
            raise ValueError(
                f"{type(self).__name__}: input and weight must both be {allowed}, but they are {x.dtype} and {weight.dtype}"
            )
        packed = scale.dtype == torch.float32 and self.output_dtype not in (torch.bfloat16, torch.int32)
        if packed and self.pertoken_scale is None:
            scale = torch.ops.npu.npu_trans_quant_param(scale, self.offset)
        return torch.ops.npu.npu_quant_matmul(
            x, weight.transpose(-2, -1), scale, offset=self.offset, pertoken_scale=self.pertoken_scale, bias=self.bias,
            output_dtype=self.output_dtype,
        )  # fmt: skip


class LinearA8W8Quant(LinearQuant):
    """`LinearQuant` of int8 numbers, with the dtypes that the device's first operator took."""

    _ALLOWED = (torch.int8,)

    def forward(self, linear_quant_input: Tensor) -> Tensor:
        """The products; ValueError for other dtypes than the layer's."""
        rules = {
            "scale": (self.scale.dtype, (torch.int64, torch.float32, torch.bfloat16)),
            "output_dtype": (self.output_dtype, (None, torch.int8, torch.float16, torch.bfloat16)),
        }
        if self.bias is not None:
            rules["bias"] = (self.bias.dtype, (torch.int32, torch.bfloat16, torch.float16, torch.float32))
        for name, (dtype, allowed) in rules.items():
            if dtype not in allowed:
                raise ValueError(
                    f"LinearA8W8Quant: {name} must be one of {', '.join(map(str, allowed))}, but it is {dtype}"
                )
        return super().forward(linear_quant_input)


class LinearWeightQuant(nn.Module):
    """Floating numbers times weights of 8 or 4 bits, (weight + offset) * scale: `npu_weight_quant_batchmatmul`.

    Shape:
        (..., in_features); (..., out_features). The weight is (out_features, in_features), to be set as the scales are.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: torch.device | str | None = None,
        dtype: torch.dtype | None = None, antiquant_offset: bool = False, quant_scale: bool = False, quant_offset: bool = False,
        antiquant_group_size: int = 0, inner_precise: int = 0, weight_dtype: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        _given(self, "weight", True, torch.empty(out_features, in_features, device=device))
        asked = {
            "antiquant_scale": True, "antiquant_offset": antiquant_offset, "quant_scale": quant_scale,
            "quant_offset": quant_offset, "bias": bias,
        }  # fmt: skip
        for name, wanted in asked.items():
            _given(self, name, wanted, torch.empty(out_features, device=device))
        self.antiquant_group_size, self.inner_precise, self.weight_dtype = (
            antiquant_group_size,
            inner_precise,
            weight_dtype,
        )

    def forward(self, x: Tensor) -> Tensor:
        """The products in the dtype of x."""
        scale, offset = (
            each.transpose(-1, -2) if each is not None and each.dim() == 2 else each
            for each in (self.antiquant_scale, self.antiquant_offset)
        )
        return torch.ops.npu.npu_weight_quant_batchmatmul(
            x, self.weight.transpose(-1, -2), scale, offset, self.quant_scale, self.quant_offset, self.bias,
            self.antiquant_group_size, self.inner_precise, weight_dtype=self.weight_dtype,
        )  # fmt: skip
