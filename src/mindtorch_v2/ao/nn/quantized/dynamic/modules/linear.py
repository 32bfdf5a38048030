"""The dynamically quantized linear layer."""

from __future__ import annotations

from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.quantized.modules import linear as static
from mindtorch_v2.ao.nn.quantized.modules.utils import _quantize_weight

__all__ = ["Linear"]


class Linear(static.Linear):
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
    version: int | None

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: torch.dtype = torch.qint8
    ) -> None:
        if dtype not in (torch.qint8, torch.float16):
            raise RuntimeError("Unsupported dtype specified for dynamic quantized Linear!")
        super().__init__(in_features, out_features, bias_, dtype=dtype)
        self.version = self._version

    def forward(self, x: Any) -> Any:
        """The product with the weight, of float32; (..., in_features) gives (..., out_features)."""
        packed = self._packed_params._packed_params
        if x.dim() < 2:
            raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
        if x.dtype != torch.float32:
            raise RuntimeError(f"expected scalar type Float but found {_SAID.get(x.dtype, x.dtype)}")
        return self._run(x, packed)

    def _run(self, x: Any, packed: Any) -> Any:
        if self._packed_params.dtype == torch.qint8:
            return torch.ops.quantized.linear_dynamic(x, packed, reduce_range=True)
        return torch.ops.quantized.linear_dynamic_fp16(x, packed)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        """The sizes, the dtype, and how the weight has its scales."""
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return text + (f", qscheme={self.weight().qscheme()}" if self._packed_params.dtype == torch.qint8 else "")

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
        self.version = local_metadata.get("version", None)
        missing: list[str] = []  # of files that say nothing of a range
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, unexpected_keys, error_msgs)
        ranges = (prefix + "scale", prefix + "zero_point")
        missing_keys.extend(name for name in missing if name not in ranges)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized form of a `torch.nn.Linear`, by its `qconfig` where it has one."""
        intrinsic = torch.ao.nn.intrinsic
        fused = tuple(getattr(intrinsic, name) for name in ("LinearReLU",) if hasattr(intrinsic, name))
        if not isinstance(mod, (nn.Linear, *fused)):
            raise AssertionError(
                f"nn.quantized.dynamic.Linear.from_float only works for nn.Linear, got {type(mod).__name__}"
            )
        config = getattr(mod, "qconfig", None)
        if isinstance(mod, fused):
            mod = mod[0]
        observer = (
            torch.ao.quantization.default_dynamic_qconfig if config is None or config.weight is None else config
        ).weight()
        if observer.dtype not in (torch.qint8, torch.float16):
            raise RuntimeError(
                f"The only supported dtypes for dynamic quantized linear are qint8 and float16 got: {observer.dtype}"
            )
        weight = mod.weight.detach().float()
        if observer.dtype == torch.qint8:
            observer(weight)
            weight = _quantize_weight(weight, observer)
        made = cls(mod.in_features, mod.out_features, dtype=observer.dtype)
        made.set_weight_bias(weight, mod.bias)
        made.training = mod.training
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any) -> Self:  # type: ignore[override]  # (no range of results)
        """The module of a reference module."""
        made = cls(ref_qlinear.in_features, ref_qlinear.out_features, dtype=ref_qlinear.weight_dtype)
        made.set_weight_bias(ref_qlinear.get_quantized_weight(), ref_qlinear.bias)
        return made


_SAID = {torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16"}
