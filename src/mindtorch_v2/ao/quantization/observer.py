"""Observers: modules that see tensors, and say with which scale and zero point they would be quantized.

Of PyTorch's observers those are here that dynamic quantization needs; the others' names raise when they are used.
"""

from __future__ import annotations

import functools
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.nn import Module

__all__ = [
    "MinMaxObserver",
    "ObserverBase",
    "PerChannelMinMaxObserver",
    "PlaceholderObserver",
    "default_dynamic_quant_observer",
    "default_float_qparams_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_weight_observer",
]

_EPS = torch.finfo(torch.float32).eps
_RANGES = {
    torch.qint8: (-128, 127),
    torch.int8: (-128, 127),
    torch.quint8: (0, 255),
    torch.uint8: (0, 255),
    torch.qint32: (-(1 << 31), (1 << 31) - 1),
    torch.int32: (-(1 << 31), (1 << 31) - 1),
}
_SYMMETRIC = (torch.per_tensor_symmetric, torch.per_channel_symmetric)


def _with_args(cls: Any, *args: Any, **kwargs: Any) -> Any:
    return functools.partial(cls, *args, **kwargs)


class ObserverBase(Module):
    """The base of observers: `forward` sees a tensor, `calculate_qparams` says how it would be quantized.

    >>> class Largest(torch.ao.quantization.ObserverBase):
    ...     def forward(self, x):
    ...         self.largest = x.abs().max()
    ...         return x
    ...     def calculate_qparams(self):
    ...         return self.largest / 127, 0
    >>> observer = Largest(torch.qint8)
    >>> _ = observer(torch.tensor([2.54, -1.0]))
    >>> observer.calculate_qparams()
    (tensor(0.0200), 0)
    """

    def __init__(self, dtype: torch.dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    with_args = classmethod(_with_args)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError(f"{type(self).__name__}.calculate_qparams")


class PlaceholderObserver(ObserverBase):
    """An observer that sees nothing: it holds how an activation is to be quantized when it is there.

    >>> observer = torch.ao.quantization.PlaceholderObserver(dtype=torch.float16)
    >>> observer(torch.tensor([1.0])), observer.dtype
    (tensor([1.]), torch.float16)
    """

    def __init__(
        self,
        dtype: torch.dtype = torch.float32,
        custom_op_name: str = "",
        compute_dtype: torch.dtype | None = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype, is_dynamic or compute_dtype is not None)
        self.custom_op = custom_op_name
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.eps = eps

    def forward(self, x: Any) -> Any:
        """The tensor as it is."""
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """RuntimeError: it has seen nothing."""
        raise RuntimeError("calculate_qparams should not be called for PlaceholderObserver")


class MinMaxObserver(ObserverBase):
    """The least and the greatest element so far, and the scale and zero point that they ask for.

    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([0.0, 5.1]))
    >>> observer.calculate_qparams()
    (tensor([0.0200]), tensor([0], dtype=torch.int32))
    """

    min_val: torch.Tensor
    max_val: torch.Tensor
    eps: torch.Tensor

    def __init__(
        self,
        dtype: torch.dtype = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        if dtype not in _RANGES:
            raise AssertionError(f"{type(self).__name__}: {dtype} is not a dtype to quantize to")
        self.qscheme, self.reduce_range = qscheme, reduce_range
        low, high = _RANGES[dtype]
        if reduce_range and quant_min is None:
            low, high = (low // 2, high // 2)
        self.quant_min = low if quant_min is None else quant_min
        self.quant_max = high if quant_max is None else quant_max
        where = factory_kwargs or {}
        self.register_buffer("eps", torch.tensor([eps], **where))
        self.register_buffer("min_val", torch.tensor(float("inf"), **where))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **where))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See a tensor, and give it back."""
        if x.numel():
            seen = x.detach().to(self.min_val.dtype)
            least, most = torch.aminmax(seen)
            self.min_val.copy_(torch.min(least, self.min_val))
            self.max_val.copy_(torch.max(most, self.max_val))
        return x

    def calculate_qparams(self, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """The scale (float32) and the zero point, one for each channel where there are channels."""
        least, most = self.min_val, self.max_val
        if least.numel() == 0 or (least.dim() == 0 and least > most):
            return torch.tensor([1.0]), torch.tensor([0])
        low, high = self.quant_min, self.quant_max
        below, above = torch.min(least, torch.zeros_like(least)), torch.max(most, torch.zeros_like(most))
        if self.qscheme in _SYMMETRIC:
            scale = torch.max(-below, above) / (float(high - low) / 2)
            scale = torch.max(scale, self.eps)
            middle = 0 if self.dtype not in (torch.quint8, torch.uint8) else (low + high + 1) // 2
            zero_point = torch.full(scale.shape, middle, dtype=torch.int64)
        elif self.qscheme == torch.per_channel_affine_float_qparams:  # zero is not among the numbers then
            scale = (most - least) / float(high - low)
            scale = torch.where(scale > self.eps, scale, torch.ones_like(scale))
            zero_point = -least / scale
        else:
            scale = torch.max((above - below) / float(high - low), self.eps)
            zero_point = (low - torch.round(below / scale).to(torch.int32)).clamp(low, high)
        return scale.reshape(-1), zero_point.reshape(-1)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))

    def extra_repr(self) -> str:
        """The least and the greatest element."""
        return f"min_val={_text(self.min_val)}, max_val={_text(self.max_val)}"


def _text(value: torch.Tensor) -> str:
    return str(value.item()) if value.dim() == 0 else str(value)


class PerChannelMinMaxObserver(MinMaxObserver):
    """`MinMaxObserver` for each index of the dimension `ch_axis`.

    >>> observer = torch.ao.quantization.PerChannelMinMaxObserver(ch_axis=0)
    >>> _ = observer(torch.tensor([[0.0, 255.0], [0.0, 25.5]]))
    >>> observer.calculate_qparams()[0]
    tensor([1.0000, 0.1000])
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: torch.dtype = torch.quint8,
        qscheme: Any = torch.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic)
        self.ch_axis = ch_axis
        self.min_val = torch.tensor([])
        self.max_val = torch.tensor([])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See a tensor, and give it back."""
        if x.numel():
            rows = x.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
            least, most = torch.aminmax(rows, dim=1)
            seen = self.min_val.numel() > 0
            self.min_val = torch.min(least, self.min_val) if seen else least
            self.max_val = torch.max(most, self.max_val) if seen else most
        return x

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = torch.tensor([]), torch.tensor([])


default_placeholder_observer = PlaceholderObserver
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_dynamic_quant_observer.__doc__ = (
    "Maker of an observer of activations that are quantized as they come, to quint8.\n\n"
    ">>> torch.ao.quantization.default_dynamic_quant_observer().is_dynamic\n"
    "True\n"
)
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
default_weight_observer.__doc__ = (
    "Maker of an observer of a weight: qint8, one scale, the zero point 0.\n\n"
    ">>> observer = torch.ao.quantization.default_weight_observer()\n"
    ">>> _ = observer(torch.tensor([-1.0, 2.55]))\n"
    ">>> observer.calculate_qparams()\n"
    "(tensor([0.0200]), tensor([0]))\n"
)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric
)
default_per_channel_weight_observer.__doc__ = (
    "Maker of an observer of a weight: qint8, a scale for each output channel.\n\n"
    ">>> observer = torch.ao.quantization.default_per_channel_weight_observer()\n"
    ">>> _ = observer(torch.tensor([[1.275, 0.0], [-2.55, 0.0]]))\n"
    ">>> observer.calculate_qparams()[0]\n"
    "tensor([0.0100, 0.0200])\n"
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer.__doc__ = (
    "Maker of an observer of an embedding's weight: quint8, zero points that are floats.\n\n"
    ">>> observer = torch.ao.quantization.observer.default_float_qparams_observer()\n"
    ">>> _ = observer(torch.tensor([[0.5, 3.05]]))\n"
    ">>> observer.calculate_qparams()\n"
    "(tensor([0.0100]), tensor([-50.]))\n"
)
