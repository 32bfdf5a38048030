"""Parts that the modules with quantized weights share."""

from __future__ import annotations

import abc
from itertools import repeat
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn

__all__ = ["WeightedQuantizedModule"]


class WeightedQuantizedModule(nn.Module, metaclass=abc.ABCMeta):
    """A module with a quantized weight, made of one with a floating weight and an observer, or of a reference module.

    >>> issubclass(torch.ao.nn.quantized.Linear, torch.ao.nn.quantized.modules.utils.WeightedQuantizedModule)
    True
    """

    @classmethod
    @abc.abstractmethod
    def from_reference(cls, ref_module: Any, output_scale: Any, output_zero_point: Any) -> Any:
        """The module of a reference module and the range of its results."""


def _get_weight_observer(observer: Any) -> Any:
    """The observer within a fake quantizer."""
    return getattr(observer, "activation_post_process", observer)


def _needs_weight_clamping(observer: Any, dtype: torch.dtype) -> bool:
    """Whether an observer keeps less than the range of its dtype."""
    observer = _get_weight_observer(observer)
    if dtype in (torch.qint8, torch.quint8, torch.qint32):
        info = torch.iinfo(dtype)
        return observer.quant_min > info.min or observer.quant_max < info.max
    return False


def _clamp_weights(qweight: Any, observer: Any, scale: Any, zp: Any) -> Any:
    """The weight, within the range of its observer."""
    if not _needs_weight_clamping(observer, qweight.dtype):
        return qweight
    observer = _get_weight_observer(observer)
    whole = torch.clamp(qweight.int_repr(), observer.quant_min, observer.quant_max)
    if observer.qscheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        return torch._make_per_tensor_quantized_tensor(whole, scale.item(), zp.item())
    return torch._make_per_channel_quantized_tensor(whole, scale, zp, axis=observer.ch_axis)


def _quantize_weight(float_wt: Any, observer: Any) -> Any:
    """The weight quantized as its observer says."""
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (torch.per_tensor_symmetric, torch.per_tensor_affine):
        made = torch.quantize_per_tensor(float_wt, float(scale), int(zero_point), torch.qint8)
        return _clamp_weights(made, observer, scale, zero_point)
    if observer.qscheme in (torch.per_channel_symmetric, torch.per_channel_affine):
        made = torch.quantize_per_channel(
            float_wt, scale.to(torch.double), zero_point.to(torch.int64), observer.ch_axis, torch.qint8
        )
        return _clamp_weights(made, observer, scale, zero_point)
    if observer.qscheme == torch.per_channel_affine_float_qparams:
        made = torch.quantize_per_channel(
            float_wt, scale.to(torch.float), zero_point.to(torch.float), observer.ch_axis, observer.dtype
        )
        return _clamp_weights(made, observer, scale, zero_point)
    raise ValueError(f"Unexpected qscheme {observer.qscheme}")


def _ntuple_from_first(n: int) -> Any:
    """A function that makes a tuple of `n` times a number, or the first of several."""

    def made(x: Any) -> tuple:
        return tuple(repeat(x[0] if isinstance(x, (tuple, list)) else x, n))

    return made


def _hide_packed_params_repr(self: nn.Module, params: type) -> str:
    """The text of a module, without those of its children that hold packed weights."""
    children = [(name, each) for name, each in self._modules.items() if not isinstance(each, params)]
    lines = [f"({name}): " + repr(each).replace("\n", "\n  ") for name, each in children]
    extra = self.extra_repr()
    if not lines:
        return f"{self._get_name()}({extra})"
    return f"{self._get_name()}(\n  " + "\n  ".join([*([extra] if extra else []), *lines]) + "\n)"


def observed(mod: Any) -> tuple[float, int]:
    """The range of the results that a module's observer saw; those of no observer are 1 and 0."""
    found = getattr(mod, "activation_post_process", None)
    if found is None:
        return 1.0, 0
    scale, zero_point = found.calculate_qparams()
    return float(scale), int(zero_point)


def weight_of(mod: Any) -> Any:
    """The observer of a module's weight, which has seen it: its fake quantizer, or a new one by its config."""
    observer = getattr(mod, "weight_fake_quant", None)
    if observer is None:
        observer = mod.qconfig.weight()
        observer(mod.weight)
    return observer
