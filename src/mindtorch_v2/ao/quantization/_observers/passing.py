"""Observers that see nothing, or keep all: they say how a tensor is to be quantized, or what it was."""

from __future__ import annotations

import warnings
from typing import Any, Never

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization._observers.base import _EPS, ObserverBase

__all__ = ["FixedQParamsObserver", "NoopObserver", "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver"]


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that are known beforehand: of a function with a fixed range.

    >>> observer = torch.ao.quantization.FixedQParamsObserver(scale=1 / 256, zero_point=0)
    >>> observer.calculate_qparams()
    (tensor([0.0039]), tensor([0], dtype=torch.int32))
    """

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: torch.dtype = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", torch.tensor([scale], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([zero_point], dtype=torch.int))
        self.qscheme = qscheme

    def forward(self, X: Any) -> Any:
        """The tensor as it is."""
        return X

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]  # (as PyTorch's)
        """The scale and the zero point."""
        return self.scale, self.zero_point


class _Unseeing(ObserverBase):
    """An observer that has no scale."""

    def forward(self, x: Any) -> Any:
        """The tensor as it is."""
        return x

    def calculate_qparams(self) -> Never:  # type: ignore[override]  # (as PyTorch's)
        """An error: there is no scale."""
        raise Exception(f"calculate_qparams should not be called for {type(self).__name__}")


class PlaceholderObserver(_Unseeing):
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
        super().__init__(dtype, is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = _EPS if eps is None else eps
        self.custom_op = custom_op_name
        if compute_dtype:
            warnings.warn(
                "Please use `is_dynamic` instead of `compute_dtype`.                     `compute_dtype` will be "
                "deprecated in a future release                     of PyTorch.",
                stacklevel=2,
            )

    def extra_repr(self) -> str:
        """The dtype, and whether activations are quantized as they come."""
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"


class RecordingObserver(_Unseeing):
    """An observer that keeps a copy of each tensor.

    >>> observer = torch.ao.quantization.RecordingObserver()
    >>> _ = observer(torch.tensor([1.0]))
    >>> observer.get_tensor_value()
    [tensor([1.])]
    """

    def __init__(self, dtype: torch.dtype = torch.quint8) -> None:
        super().__init__(dtype, is_dynamic=False)
        self.tensor_val: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keep a copy, and give the tensor back."""
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[torch.Tensor]:
        """The copies."""
        return self.tensor_val


class NoopObserver(_Unseeing):
    """An observer for conversions that need no scale, as to float16.

    >>> torch.ao.quantization.NoopObserver().dtype
    torch.float16
    """

    def __init__(self, dtype: torch.dtype = torch.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype, is_dynamic=False)
        self.custom_op = custom_op_name


class ReuseInputObserver(_Unseeing):
    """A mark: what comes out of an operator has the scale of what went in, as after a reshape.

    >>> torch.ao.quantization.ReuseInputObserver()(torch.tensor([1.0]))
    tensor([1.])
    """

    def __init__(self) -> None:
        super().__init__(torch.quint8, is_dynamic=False)
