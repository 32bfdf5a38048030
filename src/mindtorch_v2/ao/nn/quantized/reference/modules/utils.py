"""Weights that are kept as floats, with the scales and zero points by which they are quantized."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["ReferenceQuantizedModule"]

_USUAL = {"qscheme": torch.per_tensor_affine, "dtype": torch.quint8, "scale": 1.0, "zero_point": 0}
_SCHEMES = (
    None,
    torch.per_tensor_affine,
    torch.per_channel_affine,
    torch.per_channel_affine_float_qparams,
)
_DTYPES = (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2)
_CHANNELS = (torch.per_channel_affine, torch.per_channel_affine_float_qparams)


def take_qparams(module: Any, name: str, qparams: dict[str, Any] | None, device: Any = None) -> None:
    """Keep how a weight is quantized as buffers and attributes of a module, by the weight's name."""
    given = dict(_USUAL if qparams is None else qparams)
    scheme, dtype = given["qscheme"], given["dtype"]
    if scheme not in _SCHEMES:
        raise Exception(f"qscheme: {scheme} is not support in reference quantized {module._get_name()}")
    module.is_decomposed = given.get("is_decomposed", False)
    setattr(module, f"{name}_qscheme", scheme)
    setattr(module, f"{name}_dtype", dtype)
    if scheme is None:
        return
    floating = scheme == torch.per_channel_affine_float_qparams
    single = scheme == torch.per_tensor_affine
    scale = torch.as_tensor(given["scale"], dtype=torch.float, device=device)
    points = torch.as_tensor(given["zero_point"], dtype=torch.float if floating else torch.int, device=device)
    axis = 0 if single else int(given["axis"])
    module.register_buffer(f"{name}_scale", scale.detach().clone())
    module.register_buffer(f"{name}_zero_point", points.detach().clone())
    module.register_buffer(f"{name}_axis", torch.tensor(axis, dtype=torch.int, device=device))
    setattr(module, f"{name}_axis_int", axis)


def quantized_weight(module: Any, name: str, weight: Any) -> Any:
    """The weight quantized; as it is where its dtype is no quantized one."""
    scheme, dtype = getattr(module, f"{name}_qscheme"), getattr(module, f"{name}_dtype")
    if scheme is None or dtype not in _DTYPES:
        return weight.to(torch.float16) if dtype == torch.float16 else weight
    scale, points = getattr(module, f"{name}_scale"), getattr(module, f"{name}_zero_point")
    weight = weight.detach()
    if scheme == torch.per_tensor_affine:
        return torch.quantize_per_tensor(weight, scale, points, dtype)
    axis = int(getattr(module, f"{name}_axis_int"))
    return torch.quantize_per_channel(weight, scale, points, axis, dtype)


def rounded_weight(module: Any, name: str, weight: Any) -> Any:
    """The numbers that the quantized weight stands for."""
    made = quantized_weight(module, name, weight)
    if made.dtype == torch.float16:
        return made.float()
    return made.dequantize() if made.is_quantized else made


class ReferenceQuantizedModule(nn.Module):
    """A module that computes in floating point with what its quantized weight stands for.

    >>> layer = torch.ao.nn.quantized.reference.Linear(2, 1)
    >>> isinstance(layer, torch.ao.nn.quantized.reference.modules.utils.ReferenceQuantizedModule)
    True
    """

    def _init_weight_qparams(self, weight_qparams: dict[str, Any] | None, device: Any) -> None:
        take_qparams(self, "weight", weight_qparams, device)

    def get_weight(self) -> Any:
        """The numbers that the quantized weight stands for."""
        return rounded_weight(self, "weight", self.weight)

    def get_quantized_weight(self) -> Any:
        """The quantized weight."""
        return quantized_weight(self, "weight", self.weight)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        save_qparams(self, ("weight",), destination, prefix)

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
        load_qparams(self, ("weight",), state_dict, prefix)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )


def save_qparams(module: Any, names: tuple[str, ...], destination: Any, prefix: str) -> None:
    """Write what no buffer holds of how weights are quantized."""
    for name in names:
        for part in ("qscheme", "dtype"):
            if getattr(module, f"{name}_qscheme") is not None:
                destination[f"{prefix}{name}_{part}"] = getattr(module, f"{name}_{part}")


def load_qparams(module: Any, names: tuple[str, ...], state_dict: Any, prefix: str) -> None:
    """Read it."""
    for name in names:
        for part in ("qscheme", "dtype"):
            key = f"{prefix}{name}_{part}"
            if key in state_dict:
                setattr(module, f"{name}_{part}", state_dict.pop(key))
        if f"{prefix}{name}_axis" in state_dict:
            setattr(module, f"{name}_axis_int", int(state_dict[f"{prefix}{name}_axis"]))
