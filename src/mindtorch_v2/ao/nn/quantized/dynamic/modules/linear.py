"""The dynamically quantized linear layer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._quantized import QuantizedTensor

__all__ = ["Linear"]

_MOST = 127  # of an input's quantized numbers: seven bits, as PyTorch keeps a bit free


class _PackedParams(nn.Module):
    """The weight (quantized, or rounded to float16) and the bias, saved under PyTorch's names."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype
        self.weight: Any = None
        self.bias: torch.Tensor | None = None

    def set_weight_bias(self, weight: Any, bias: torch.Tensor | None) -> None:
        """Take the weight, and make of it what products need."""
        self.bias = None if bias is None else bias.detach()
        if self.dtype == torch.float16:
            self.weight = weight.detach().to(torch.float16).float()
            return
        if not isinstance(weight, QuantizedTensor) or weight.dtype != torch.qint8:
            raise RuntimeError(f"a linear layer of qint8 takes a weight of qint8, got {weight.dtype}")
        self.weight = weight
        whole = weight._whole
        if (weight._zero_points != 0).any():
            raise NotImplementedError("a dynamically quantized linear layer takes weights with a zero point of 0 only")
        self.whole = whole.contiguous()
        self.scales = weight._scales.float()

    def _weight_bias(self) -> tuple[Any, torch.Tensor | None]:
        return self.weight, self.bias

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

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
        own = [prefix + "dtype", prefix + "_packed_params"]
        missing = [each for each in own if each not in state_dict]
        if missing:
            missing_keys.extend(missing)
        else:
            self.dtype = state_dict.pop(own[0])
            self.set_weight_bias(*state_dict.pop(own[1]))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __deepcopy__(self, memo: dict) -> _PackedParams:
        made = _PackedParams(self.dtype)
        made.training = self.training
        if self.weight is not None:
            weight = self.weight if isinstance(self.weight, QuantizedTensor) else self.weight.clone()
            made.set_weight_bias(weight, None if self.bias is None else self.bias.clone())
        return made


class Linear(nn.Module):
    """A linear layer with an 8-bit (or float16) weight; its input is quantized when it comes, by its least and greatest number.

    Args:
        in_features, out_features: as of `torch.nn.Linear`.
        bias_: whether there is a bias.
        dtype: `torch.qint8` or `torch.float16`.

    >>> layer = torch.ao.nn.quantized.dynamic.Linear.from_float(torch.nn.Linear(4, 2).eval())
    >>> layer(torch.ones(3, 4)).shape
    torch.Size([3, 2])
    """

    _version = 4
    version: int | None = 4

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: torch.dtype = torch.qint8
    ) -> None:
        super().__init__()
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype specified for dynamic quantized Linear!")
        self.in_features, self.out_features = in_features, out_features
        self.scale, self.zero_point = 1.0, 0
        self._packed_params = _PackedParams(dtype)
        plain = torch.zeros(out_features, in_features)
        weight = plain if dtype == torch.float16 else _quantized(plain, torch.tensor([1.0]), torch.tensor([0]), None)
        self.set_weight_bias(weight, torch.zeros(out_features) if bias_ else None)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"  # without what holds the weight

    def extra_repr(self) -> str:
        """The sizes, the dtype, and how the weight has its scales."""
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return text + (f", qscheme={self.weight().qscheme()}" if self._packed_params.dtype == torch.qint8 else "")

    def set_weight_bias(self, w: Any, b: torch.Tensor | None) -> None:
        """Take a weight (quantized, or of floats for float16) and a bias."""
        self._packed_params.set_weight_bias(w, b)

    def weight(self) -> Any:
        """The weight: quantized, or floats that were rounded to float16."""
        return self._packed_params.weight

    def bias(self) -> torch.Tensor | None:
        """The bias."""
        return self._packed_params.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The product with the weight, of float32; (..., in_features) gives (..., out_features)."""
        if x.dim() < 2:
            raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
        if x.dtype != torch.float32:
            raise RuntimeError(f"expected scalar type Float but found {_class_name(x.dtype)}")
        packed = self._packed_params
        if packed.dtype == torch.float16:
            return nn.functional.linear(x, packed.weight, packed.bias)
        with torch.no_grad():
            return torch.ops.mindtorch.dynamic_linear(x, packed.whole, packed.scales, packed.bias, _MOST)

    @classmethod
    def from_float(cls, mod: nn.Module, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a `torch.nn.Linear`, by its `qconfig` where it has one."""
        if not isinstance(mod, nn.Linear):
            raise AssertionError(
                f"nn.quantized.dynamic.Linear.from_float only works for nn.Linear, got {type(mod).__name__}"
            )
        config = getattr(mod, "qconfig", None)
        weight: Any = mod.weight.detach().float()
        dtype, axis = torch.qint8, None
        if config is None:  # as the observer of `default_dynamic_qconfig` sees it
            scale = (weight.abs().max() / 127.5).clamp_min(torch.finfo(torch.float32).eps).reshape(1)
            zero_point = torch.zeros(1, dtype=torch.int64)
        else:
            observer = config.weight()
            dtype, axis = observer.dtype, getattr(observer, "ch_axis", None)
            if dtype not in (torch.qint8, torch.float16):
                raise RuntimeError(
                    f"The only supported dtypes for dynamic quantized linear are qint8 and float16 got: {dtype}"
                )
            if dtype == torch.qint8:
                observer(weight)
                scale, zero_point = observer.calculate_qparams()
        if dtype == torch.qint8:
            weight = _quantized(weight, scale, zero_point, axis)
        made = cls(mod.in_features, mod.out_features, dtype=dtype)
        made.set_weight_bias(weight, mod.bias)
        made.training = mod.training
        return made

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = torch.tensor(self.scale)
        destination[prefix + "zero_point"] = torch.tensor(self.zero_point)

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
        for name, kind in (("scale", float), ("zero_point", int)):
            if prefix + name in state_dict:
                setattr(self, name, kind(state_dict.pop(prefix + name)))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )


def _class_name(dtype: torch.dtype) -> str:
    return {torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16"}.get(dtype, str(dtype))


def _quantized(
    weight: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor, axis: int | None
) -> QuantizedTensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that quantised dtypes are deprecated: the module says what it is by its name
        if axis is None:
            return torch.quantize_per_tensor(weight, float(scale), int(zero_point), torch.qint8)
        return torch.quantize_per_channel(weight, scale, zero_point.to(torch.int64), axis, torch.qint8)
