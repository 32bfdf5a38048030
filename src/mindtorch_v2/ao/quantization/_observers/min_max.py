"""Observers of the least and the greatest number, of all or by channel, so far or on average."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization._observers.base import _EPS, UniformQuantizationObserverBase
from mindtorch_v2.ao.quantization._ranges import is_per_channel, is_per_tensor

__all__ = [
    "MinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
    "PerChannelMinMaxObserver",
]

_OF_TENSORS = "'s qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
_OF_CHANNELS = (
    "'s qscheme only support                     torch.per_channel_symmetric, torch.per_channel_affine and "
    "torch.per_channel_affine_float_qparams."
)


class MinMaxObserver(UniformQuantizationObserverBase):
    """The least and the greatest element so far, and the scale and zero point that they ask for.

    Arguments are those of `UniformQuantizationObserverBase`. NotImplementedError for a scheme with scales by channel.

    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([0.0, 5.1]))
    >>> observer.calculate_qparams()
    (tensor([0.0200]), tensor([0], dtype=torch.int32))
    """

    min_val: torch.Tensor
    max_val: torch.Tensor

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
        if not is_per_tensor(qscheme):
            raise NotImplementedError("MinMaxObserver" + _OF_TENSORS)
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        where = nn.factory_kwargs(factory_kwargs)
        self.register_buffer("min_val", torch.tensor(float("inf"), **where))
        self.register_buffer("max_val", torch.tensor(float("-inf"), **where))
        if qscheme == torch.per_tensor_symmetric and reduce_range and dtype == torch.quint8:
            raise NotImplementedError(
                "Cannot reduce range for symmetric                                        quantization for quint8"
            )

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """See a tensor, and give it back."""
        if x_orig.numel():
            least, most = torch.aminmax(x_orig.detach().to(self.min_val.dtype))
            self._meet(least, most)
        return x_orig

    def _meet(self, least: torch.Tensor, most: torch.Tensor) -> None:
        self.min_val.copy_(torch.min(least, self.min_val))
        self.max_val.copy_(torch.max(most, self.max_val))

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]  # (as PyTorch's)
        """The scale and the zero point."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The least and the greatest element."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.fill_(float("inf"))
        self.max_val.fill_(float("-inf"))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """`MinMaxObserver` of averages: each tensor moves both ends by `averaging_constant` of the way to its own.

    >>> observer = torch.ao.quantization.MovingAverageMinMaxObserver(averaging_constant=0.5)
    >>> for most in (1.0, 2.0):
    ...     _ = observer(torch.tensor([0.0, most]))
    >>> observer.max_val
    tensor(1.5000)
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: torch.dtype = torch.quint8,
        qscheme: Any = torch.per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_tensor(qscheme):
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support                 torch.per_tensor_symmetric and "
                f"torch.per_tensor_affine.                 but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                f"{averaging_constant}"
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)

    def _meet(self, least: torch.Tensor, most: torch.Tensor) -> None:
        if self.min_val != float("inf") or self.max_val != float("-inf"):
            least = self.min_val + self.averaging_constant * (least - self.min_val)
            most = self.max_val + self.averaging_constant * (most - self.max_val)
        self.min_val.copy_(least)
        self.max_val.copy_(most)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """`MinMaxObserver` for each index of the dimension `ch_axis`.

    >>> observer = torch.ao.quantization.PerChannelMinMaxObserver(ch_axis=0)
    >>> _ = observer(torch.tensor([[0.0, 255.0], [0.0, 25.5]]))
    >>> observer.calculate_qparams()[0]
    tensor([1.0000, 0.1000])
    """

    min_val: torch.Tensor
    max_val: torch.Tensor

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
        if not is_per_channel(qscheme):
            raise NotImplementedError("PerChannelMinMaxObserver" + _OF_CHANNELS)
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        where = nn.factory_kwargs(factory_kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", torch.tensor([], **where))
        self.register_buffer("max_val", torch.tensor([], **where))
        if qscheme == torch.per_channel_symmetric and reduce_range and dtype == torch.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig: torch.Tensor) -> torch.Tensor:
        """See a tensor, and give it back."""
        if x_orig.numel():
            rows = x_orig.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
            least, most = torch.aminmax(rows, dim=1)
            if self.min_val.numel() and self.max_val.numel():
                least, most = self._joined(least, most)
            self.min_val.resize_(least.shape).copy_(least)
            self.max_val.resize_(most.shape).copy_(most)
        return x_orig

    def _joined(self, least: torch.Tensor, most: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.min(least, self.min_val), torch.max(most, self.max_val)

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[override]  # (as PyTorch's)
        """The scale and the zero point of each channel."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        """The least and the greatest elements."""
        return f"min_val={self.min_val}, max_val={self.max_val}"

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
        version = local_metadata.get("version")
        plural = "s" if version is not None and version < 3 else ""
        for name, own in (("min_val", self.min_val), ("max_val", self.max_val)):
            key = prefix + name + plural
            if key in state_dict:
                own.resize_(state_dict[key].shape)
                if plural:  # of an old file, whose names the ways above do not know
                    own.copy_(state_dict[key])
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = torch.rand(0), torch.rand(0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """`MovingAverageMinMaxObserver` for each index of the dimension `ch_axis`.

    >>> observer = torch.ao.quantization.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.5)
    >>> for most in (1.0, 2.0):
    ...     _ = observer(torch.tensor([[0.0, most], [0.0, 4.0]]))
    >>> observer.max_val
    tensor([1.5000, 4.0000])
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: torch.dtype = torch.quint8,
        qscheme: Any = torch.per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ) -> None:
        if not is_per_channel(qscheme):
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver" + _OF_CHANNELS)
        if is_dynamic:
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(
            ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def _joined(self, least: torch.Tensor, most: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        part = self.averaging_constant
        return self.min_val + part * (least - self.min_val), self.max_val + part * (most - self.max_val)
