"""The linear layer of quantized tensors, and what holds the packed weights of linear layers."""

from __future__ import annotations

import copy
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules.utils import (
    WeightedQuantizedModule,
    _hide_packed_params_repr,
    _quantize_weight,
)

__all__ = ["Linear", "LinearPackedParams"]


class LinearPackedParams(nn.Module):
    """The weight (quantized, or rounded to float16) and the bias of a linear layer, packed.

    >>> packed = torch.ao.nn.quantized.modules.linear.LinearPackedParams()
    >>> packed._weight_bias()[0].dtype
    torch.qint8
    """

    _version = 3

    def __init__(self, dtype: torch.dtype = torch.qint8) -> None:
        super().__init__()
        self.dtype = dtype
        self._packed_params: Any = None
        if dtype == torch.qint8:
            weight = torch._empty_affine_quantized([1, 1], scale=1, zero_point=0, dtype=torch.qint8)
        else:
            weight = torch.zeros([1, 1], dtype=torch.float)
        self.set_weight_bias(weight, None)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Pack a weight and a bias."""
        if self.dtype == torch.qint8:
            self._packed_params = torch.ops.quantized.linear_prepack(weight, bias)
        elif self.dtype == torch.float16:
            self._packed_params = torch.ops.quantized.linear_prepack_fp16(weight, bias)
        else:
            raise RuntimeError("Unsupported dtype on dynamic quantized linear!")

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params.unpack()

    def forward(self, x: Any) -> Any:
        """`x` itself."""
        return x

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
        version = local_metadata.get("version", None)
        old = version is None or version < 2
        self.dtype = torch.qint8 if old else self.dtype
        own = [prefix + name for name in (("weight", "bias") if old or version < 3 else ("_packed_params",))]
        own += [] if old else [prefix + "dtype"]
        missing = [name for name in own if name not in state_dict]
        missing_keys.extend(missing)
        if not missing:
            found = {name.removeprefix(prefix): state_dict.pop(name) for name in own}
            self.dtype = found.get("dtype", self.dtype)
            pair = found["_packed_params"] if "_packed_params" in found else (found["weight"], found["bias"])
            self.set_weight_bias(*pair)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __getstate__(self) -> dict:
        return dict(self.__dict__)

    def __deepcopy__(self, memo: dict) -> Any:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return made

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(WeightedQuantizedModule):
    """A linear layer of quantized tensors (quint8), with an 8-bit weight.

    Args:
        in_features, out_features: as of `torch.nn.Linear`.
        bias_: whether there is a bias.
        dtype: of the weight: `torch.qint8`.

    >>> layer = torch.ao.nn.quantized.Linear(4, 2)
    >>> layer(torch.quantize_per_tensor(torch.ones(3, 4), 0.1, 0, torch.quint8)).shape
    torch.Size([3, 2])
    """

    _version = 3
    _FLOAT_MODULE: Any = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: torch.dtype = torch.qint8
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bias = torch.zeros(out_features, dtype=torch.float) if bias_ else None
        if dtype == torch.qint8:
            weight = torch._empty_affine_quantized(
                [out_features, in_features], scale=1, zero_point=0, dtype=torch.qint8
            )
        elif dtype == torch.float16:
            weight = torch.zeros([out_features, in_features], dtype=torch.float)
        else:
            raise RuntimeError("Unsupported dtype specified for quantized Linear!")
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale, self.zero_point = 1.0, 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        """Sizes, the range of results, and how the weight has its scales."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return _hide_packed_params_repr(self, LinearPackedParams)

    def forward(self, x: Any) -> Any:
        """The layer of a tensor of quint8."""
        return torch.ops.quantized.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)

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
            else:
                missing_keys.append(prefix + name)
        version = local_metadata.get("version", None)
        if version is None or version == 1:
            pair = [state_dict.pop(prefix + name) for name in ("weight", "bias")]
            state_dict[prefix + "_packed_params.weight"], state_dict[prefix + "_packed_params.bias"] = pair
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        """The quantized weight."""
        return self._weight_bias()[0]

    def bias(self) -> Any:
        """The bias, or None."""
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Take a weight (qint8) and a bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a linear layer that was observed, or trained with fake quantizers."""
        intrinsic = torch.ao.nn.intrinsic
        if hasattr(mod, "weight_fake_quant"):
            if type(mod) is torch.ao.nn.intrinsic.qat.LinearBn1d:
                mod.weight, mod.bias = nn.utils.fusion.fuse_linear_bn_weights(
                    mod.weight,
                    mod.bias,
                    mod.bn.running_mean,
                    mod.bn.running_var,
                    mod.bn.eps,
                    mod.bn.weight,
                    mod.bn.bias,
                )
            observer, post = mod.weight_fake_quant, mod.activation_post_process
        else:
            wanted = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
            if not isinstance(mod, wanted):
                names = ", ".join(each.__name__ for each in wanted)
                raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {names}, but got: {type(mod)}")
            if not hasattr(mod, "qconfig"):
                raise AssertionError("Input float module must have qconfig defined")
            post = mod.activation_post_process
            if type(mod) is intrinsic.LinearReLU:
                mod = mod[0]
            if getattr(mod, "qconfig", None) is None:
                raise AssertionError("Input float module must have qconfig defined")
            observer = mod.qconfig.weight()
        if not use_precomputed_fake_quant:
            observer(mod.weight)
        if observer.dtype != torch.qint8:
            raise AssertionError(f"Weight observer must have dtype torch.qint8, got {observer.dtype}")
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(_quantize_weight(mod.weight.float(), observer), mod.bias)
        scale, zero_point = post.calculate_qparams()
        made.scale, made.zero_point = float(scale), int(zero_point)
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: Any, output_zero_point: Any) -> Self:
        """The module of a reference module."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        made.scale, made.zero_point = float(output_scale), int(output_zero_point)
        return made
