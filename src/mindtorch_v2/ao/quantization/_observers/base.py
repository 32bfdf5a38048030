"""The bases of observers, and makers of observers with arguments kept."""

from __future__ import annotations

import abc
import functools
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization import _ranges

__all__ = ["ObserverBase", "UniformQuantizationObserverBase"]

_EPS = torch.finfo(torch.float32).eps
_SCHEMES = (
    torch.per_tensor_affine,
    torch.per_tensor_symmetric,
    torch.per_channel_affine,
    torch.per_channel_symmetric,
    torch.per_channel_affine_float_qparams,
)
_DTYPES = (
    torch.qint8,
    torch.quint8,
    torch.quint4x2,
    torch.qint32,
    torch.int8,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.float8_e5m2,
    torch.float8_e4m3fn,
    torch.uint16,
)


class _PartialWrapper:
    """A maker of observers: a partial call, with arguments that are asked for (of callables) at each call."""

    def __init__(self, p: Any) -> None:
        self.p = p
        self.callable_args: dict[str, Callable[[], Any]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        asked = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **asked)

    def __repr__(self) -> str:
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Any) -> _PartialWrapper:
        made = _PartialWrapper(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


def _with_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(functools.partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Any, **kwargs: Any) -> _PartialWrapper:
    return _PartialWrapper(functools.partial(cls_or_self)).with_callable_args(**kwargs)


def described(maker: _PartialWrapper, text: str) -> _PartialWrapper:
    """A maker with a text of its own."""
    maker.__doc__ = text
    return maker


class ObserverBase(abc.ABC, nn.Module):
    """The base of observers: `forward` sees a tensor, `calculate_qparams` says how it would be quantized.

    >>> class Largest(torch.ao.quantization.ObserverBase):
    ...     def forward(self, x):
    ...         self.largest = x.abs().max()
    ...         return x
    ...     def calculate_qparams(self):
    ...         return self.largest / 127, 0
    >>> observer = Largest.with_args(dtype=torch.qint8)()
    >>> _ = observer(torch.tensor([2.54, -1.0]))
    >>> observer.calculate_qparams()
    (tensor(0.0200), 0)
    """

    def __init__(self, dtype: torch.dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abc.abstractmethod
    def forward(self, x: Any) -> Any:
        """See a tensor, and give it back."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """The base of observers whose quantized numbers lie at equal distances.

    Args:
        dtype, qscheme: of the quantized numbers, and how scales are given.
        reduce_range: without the highest bit of the dtype; deprecated.
        quant_min, quant_max: a range of one's own; it has 0.
        eps: the least scale.

    >>> class Fixed(torch.ao.quantization.UniformQuantizationObserverBase):
    ...     def forward(self, x):
    ...         return x
    ...     def calculate_qparams(self):
    ...         return self._calculate_qparams(torch.tensor(0.0), torch.tensor(51.0))
    >>> Fixed().calculate_qparams()
    (tensor([0.2000]), tensor([0], dtype=torch.int32))
    """

    _version = 3
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
        where = nn.factory_kwargs(factory_kwargs)
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme = qscheme
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers.                     "
                "reduce_range will be deprecated in a future release of PyTorch.",
                stacklevel=2,
            )
        self.reduce_range = reduce_range
        self.register_buffer("eps", torch.tensor([eps], **where))
        if qscheme not in _SCHEMES:
            raise AssertionError(
                "Default Observer only works for per_tensor_affine, per_tensor_symmetric, per_channel_affine, "
                "per_channel_symmetric and per_channel_float_qparams quantization scheme"
            )
        if dtype not in _DTYPES:
            raise AssertionError(f"Default Observer only works for {_DTYPES} data type")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if quant_min is not None and quant_max is not None:
            _ranges.validate_qmin_qmax(quant_min, quant_max)
        self.quant_min, self.quant_max = _ranges.calculate_qmin_qmax(
            quant_min, quant_max, self.has_customized_qrange, dtype, reduce_range
        )

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, *args: Any, **kwargs: Any
    ) -> None:
        if local_metadata.get("version", None) in (None, 1):  # those had no eps
            state_dict[prefix + "eps"] = torch.tensor([_EPS])
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args, **kwargs)

    def _validate_qmin_qmax(self, quant_min: int, quant_max: int) -> None:
        _ranges.validate_qmin_qmax(quant_min, quant_max)

    def _calculate_qparams(self, min_val: torch.Tensor, max_val: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The scale (float32) and the zero point for numbers from `min_val` to `max_val`."""
        if self.dtype == torch.uint16:
            middle = 1 << 15
        else:
            middle = _ranges.middle_of(self.dtype, self.quant_min, self.quant_max, self.has_customized_qrange)
        return _ranges.scale_and_zero_point(
            min_val, max_val, self.quant_min, self.quant_max, self.dtype, self.eps, self.qscheme, middle
        )

    def reset_min_max_vals(self) -> None:
        """Forget what was seen; NotImplementedError where a class does not say how."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")
