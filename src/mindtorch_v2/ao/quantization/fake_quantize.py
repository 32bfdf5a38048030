"""Fake quantization: modules that round to what quantized numbers can hold, for training that is aware of it."""

from __future__ import annotations

import abc
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization._observers import defaults
from mindtorch_v2.ao.quantization._observers import state as _state
from mindtorch_v2.ao.quantization._observers.base import described
from mindtorch_v2.ao.quantization._ranges import is_per_channel as _is_per_channel
from mindtorch_v2.ao.quantization._ranges import is_per_tensor as _is_per_tensor
from mindtorch_v2.ao.quantization.observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _with_args,
)

__all__ = [
    "FakeQuantize",
    "FakeQuantizeBase",
    "FixedQParamsFakeQuantize",
    "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant",
    "default_dynamic_fake_quant",
    "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit",
    "default_fake_quant",
    "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant",
    "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant",
    "default_fused_wt_fake_quant",
    "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant",
    "default_symmetric_fixed_qparams_fake_quant",
    "default_weight_fake_quant",
    "disable_fake_quant",
    "disable_observer",
    "enable_fake_quant",
    "enable_observer",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
    "fused_wt_fake_quant_range_neg_127_to_127",
]


def _is_symmetric_quant(qscheme: Any) -> bool:
    return qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)


def _is_float_qparams(qscheme: Any) -> bool:
    return qscheme == torch.per_channel_affine_float_qparams


class FakeQuantizeBase(abc.ABC, nn.Module):
    """The base of fake quantization: two switches, for observing and for rounding.

    >>> class Halves(torch.ao.quantization.FakeQuantizeBase):
    ...     def forward(self, x):
    ...         return torch.round(x * 2) / 2 if self.fake_quant_enabled[0] == 1 else x
    ...     def calculate_qparams(self):
    ...         return 0.5, 0
    >>> halves = Halves()
    >>> halves(torch.tensor([0.3]))
    tensor([0.5000])
    >>> halves.disable_fake_quant()
    >>> halves(torch.tensor([0.3]))
    tensor([0.3000])
    """

    fake_quant_enabled: torch.Tensor
    observer_enabled: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.uint8))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.uint8))

    @abc.abstractmethod
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tensor, rounded."""

    @abc.abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """The scale and the zero point."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round, or not."""
        self.fake_quant_enabled[0] = int(enabled)

    def disable_fake_quant(self) -> None:
        """Give tensors back as they are."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Observe, or not."""
        self.observer_enabled[0] = int(enabled)

    def disable_observer(self) -> None:
        """Keep the scale and the zero point."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """A maker of the class with arguments kept."""
        made = _with_args(cls, **kwargs)
        made.__module__ = __name__
        return made


_state._SEEING.append(FakeQuantizeBase)


class FakeQuantize(FakeQuantizeBase):
    """An observer, and rounding by what it says: x -> (clamp(round(x / scale + zero_point)) - zero_point) * scale.

    Args:
        observer: a class or a maker; `observer_kwargs` are for it.
        quant_min, quant_max: the range, within that of the observer's dtype.
        is_dynamic: whether activations will be quantized as they come.

    >>> fake = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=255)
    >>> fake(torch.tensor([0.0, 0.333, 2.55]))
    tensor([0.0000, 0.3300, 2.5500])
    """

    scale: torch.Tensor
    zero_point: torch.Tensor

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            dtype = observer_kwargs.get("dtype", torch.quint8)
            dtype = getattr(getattr(observer, "p", None), "keywords", {}).get("dtype", dtype)
            limits = torch.iinfo(dtype)
            if limits.min > quant_min:
                raise AssertionError("quant_min out of bound")
            if quant_max > limits.max:
                raise AssertionError("quant_max out of bound")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        seeing = observer(**observer_kwargs, is_dynamic=is_dynamic)
        self.activation_post_process = seeing
        self.quant_min, self.quant_max = seeing.quant_min, seeing.quant_max
        self.is_dynamic = seeing.is_dynamic
        whole = torch.float if _is_float_qparams(seeing.qscheme) else torch.int
        self.register_buffer("scale", torch.tensor([1.0], dtype=torch.float))
        self.register_buffer("zero_point", torch.tensor([0], dtype=whole))
        self.dtype, self.qscheme = seeing.dtype, seeing.qscheme
        self.ch_axis = getattr(seeing, "ch_axis", -1)
        if not (_is_per_channel(self.qscheme) or _is_per_tensor(self.qscheme)):
            raise AssertionError(
                "Only per channel and per tensor quantization are supported in fake quantize got qscheme: "
                f"{self.qscheme}"
            )
        self.is_per_channel = _is_per_channel(self.qscheme)

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # (as PyTorch's)
        """The scale and the zero point of the observer."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """The tensor, observed and rounded as the switches say."""
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            for own, new in zip((self.scale, self.zero_point), self.calculate_qparams(), strict=True):
                if own.shape != new.shape:
                    own.resize_(new.shape)
                own.copy_(new.to(own.device))
        if self.fake_quant_enabled[0] == 1:
            limits = self.activation_post_process.quant_min, self.activation_post_process.quant_max
            if self.is_per_channel:
                return torch.fake_quantize_per_channel_affine(X, self.scale, self.zero_point, self.ch_axis, *limits)
            return torch.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, *limits)
        return X

    def extra_repr(self) -> str:
        """The switches, and how numbers are rounded."""
        seeing = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={seeing.quant_min}, quant_max={seeing.quant_max}, dtype={self.dtype}, "
            f"qscheme={self.qscheme}, ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"] = self.scale
        destination[prefix + "zero_point"] = self.zero_point

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
        for name, own in (("scale", self.scale), ("zero_point", self.zero_point)):
            key = prefix + name
            if key in state_dict:
                own.resize_(state_dict[key].shape)
            elif strict:
                missing_keys.append(key)
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class FixedQParamsFakeQuantize(FakeQuantize):
    """Fake quantization by a scale that is known beforehand.

    >>> maker = torch.ao.quantization.default_fixed_qparams_range_0to1_observer
    >>> torch.ao.quantization.FixedQParamsFakeQuantize(maker)(torch.tensor([0.3, 2.0]))
    tensor([0.3008, 0.9961])
    """

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(f"{type(self).__name__}'s observer must be a {FixedQParamsObserver.__name__}")
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point
        if not _is_per_tensor(self.qscheme):
            raise AssertionError(
                f"Only per tensor quantization is supported FixedQParamsFakeQuantize module, got qscheme:{self.qscheme}"
            )

    def calculate_qparams(self) -> Any:  # type: ignore[override]  # (as PyTorch's)
        """The scale and the zero point."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        """The switches, and how numbers are rounded."""
        return _described(self)


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """`FakeQuantize` with a moving average's observer, as one operator.

    >>> fake = torch.ao.quantization.FusedMovingAvgObsFakeQuantize()
    >>> fake(torch.tensor([0.0, 0.333, 2.55]))
    tensor([0.0000, 0.3300, 2.5500])
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        averages = MovingAverageMinMaxObserver | MovingAveragePerChannelMinMaxObserver
        if not isinstance(self.activation_post_process, averages):
            raise AssertionError("Fused observer+fake_quant module only works with MovingAverageMinMaxObserver")
        self.register_buffer("fake_quant_enabled", torch.tensor([1], dtype=torch.long))
        self.register_buffer("observer_enabled", torch.tensor([1], dtype=torch.long))
        self.is_symmetric_quant = _is_symmetric_quant(self.activation_post_process.qscheme)

    def extra_repr(self) -> str:
        """The switches, and how numbers are rounded."""
        return f"{_described(self)}, reduce_range={self.activation_post_process.reduce_range}"

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        """The tensor, observed and rounded as the switches say."""
        seeing = self.activation_post_process
        return torch.fused_moving_avg_obs_fake_quant(
            X,
            self.observer_enabled,
            self.fake_quant_enabled,
            seeing.min_val,
            seeing.max_val,
            self.scale,
            self.zero_point,
            seeing.averaging_constant,
            seeing.quant_min,
            seeing.quant_max,
            self.ch_axis,
            self.is_per_channel,
            self.is_symmetric_quant,
        )


def _described(module: FakeQuantize) -> str:
    seeing = module.activation_post_process
    return (
        f"fake_quant_enabled={module.fake_quant_enabled}, observer_enabled={module.observer_enabled}, "
        f"scale={module.scale}, zero_point={module.zero_point}, dtype={module.dtype}, quant_min={seeing.quant_min}, "
        f"quant_max={seeing.quant_max}, qscheme={module.qscheme}"
    )


def _switch(mod: nn.Module, method: str) -> None:
    if isinstance(mod, FakeQuantizeBase):
        getattr(mod, method)()


def disable_fake_quant(mod: nn.Module) -> None:
    """Let a module give tensors back as they are, if it is fake quantization; for `Module.apply`.

    >>> fake = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=255)
    >>> _ = fake.apply(torch.ao.quantization.disable_fake_quant)
    >>> fake(torch.tensor([0.333, 2.55]))
    tensor([0.3330, 2.5500])
    """
    _switch(mod, "disable_fake_quant")


def enable_fake_quant(mod: nn.Module) -> None:
    """Let a module round, if it is fake quantization; for `Module.apply`.

    >>> fake = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=255)
    >>> _ = fake.apply(torch.ao.quantization.enable_fake_quant)
    >>> fake(torch.tensor([0.333, 2.55]))
    tensor([0.3300, 2.5500])
    """
    _switch(mod, "enable_fake_quant")


def disable_observer(mod: nn.Module) -> None:
    """Let a module keep its scale, if it is fake quantization; for `Module.apply`.

    >>> fake = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=255)
    >>> _ = fake.apply(torch.ao.quantization.disable_observer)
    >>> fake(torch.tensor([0.333, 2.55]))  # the scale is 1 at first
    tensor([0., 3.])
    """
    _switch(mod, "disable_observer")


def enable_observer(mod: nn.Module) -> None:
    """Let a module observe, if it is fake quantization; for `Module.apply`.

    >>> fake = torch.ao.quantization.FakeQuantize(quant_min=0, quant_max=255)
    >>> _ = fake.apply(torch.ao.quantization.enable_observer)
    >>> fake(torch.tensor([0.333, 2.55]))
    tensor([0.3300, 2.5500])
    """
    _switch(mod, "enable_observer")


default_fake_quant = described(
    FakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=0,
        quant_max=255,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        reduce_range=True,
    ),
    ("Maker of fake quantization of activations.\n\n>>> torch.ao.quantization.default_fake_quant().quant_max\n127\n"),
)
default_weight_fake_quant = described(
    FakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=-128,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_tensor_symmetric,
        reduce_range=False,
    ),
    (
        "Maker of fake quantization of a weight, with one scale.\n"
        "\n"
        ">>> torch.ao.quantization.default_weight_fake_quant().quant_max\n"
        "127\n"
    ),
)
default_dynamic_fake_quant = described(
    FakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=0,
        quant_max=255,
        is_dynamic=True,
        dtype=torch.quint8,
        averaging_constant=1,
    ),
    (
        "Maker of fake quantization of activations that will be quantized as they come.\n"
        "\n"
        ">>> torch.ao.quantization.default_dynamic_fake_quant().quant_max\n"
        "255\n"
    ),
)
default_fixed_qparams_range_neg1to1_fake_quant = described(
    FixedQParamsFakeQuantize.with_args(observer=defaults.default_fixed_qparams_range_neg1to1_observer),
    (
        "Maker of fake quantization of results between -1 and 1.\n"
        "\n"
        ">>> torch.ao.quantization.default_fixed_qparams_range_neg1to1_fake_quant().quant_max\n"
        "255\n"
    ),
)
default_fixed_qparams_range_0to1_fake_quant = described(
    FixedQParamsFakeQuantize.with_args(observer=defaults.default_fixed_qparams_range_0to1_observer),
    (
        "Maker of fake quantization of results between 0 and 1.\n"
        "\n"
        ">>> torch.ao.quantization.default_fixed_qparams_range_0to1_fake_quant().quant_max\n"
        "255\n"
    ),
)
default_per_channel_weight_fake_quant = described(
    FakeQuantize.with_args(
        observer=MovingAveragePerChannelMinMaxObserver,
        quant_min=-128,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_channel_symmetric,
        reduce_range=False,
        ch_axis=0,
    ),
    (
        "Maker of fake quantization of a weight, with a scale for each output channel.\n"
        "\n"
        ">>> torch.ao.quantization.default_per_channel_weight_fake_quant().quant_max\n"
        "127\n"
    ),
)
default_embedding_fake_quant = described(
    FakeQuantize.with_args(
        observer=MovingAveragePerChannelMinMaxObserver,
        qscheme=torch.per_channel_affine_float_qparams,
        dtype=torch.quint8,
        quant_min=0,
        quant_max=255,
        ch_axis=0,
        averaging_constant=1,
    ),
    (
        "Maker of fake quantization of an embedding's weight.\n"
        "\n"
        ">>> torch.ao.quantization.default_embedding_fake_quant().quant_max\n"
        "255\n"
    ),
)
default_embedding_fake_quant_4bit = described(
    FakeQuantize.with_args(
        observer=MovingAveragePerChannelMinMaxObserver,
        qscheme=torch.per_channel_affine_float_qparams,
        ch_axis=0,
        dtype=torch.quint4x2,
        averaging_constant=1,
    ),
    (
        "Maker of fake quantization of an embedding's weight, to four bits.\n"
        "\n"
        ">>> torch.ao.quantization.default_embedding_fake_quant_4bit().quant_max\n"
        "15\n"
    ),
)
default_histogram_fake_quant = described(
    FakeQuantize.with_args(
        observer=HistogramObserver,
        quant_min=0,
        quant_max=255,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        reduce_range=True,
    ),
    (
        "Maker of fake quantization of activations by a histogram.\n"
        "\n"
        ">>> torch.ao.quantization.default_histogram_fake_quant().quant_max\n"
        "127\n"
    ),
)
default_fused_act_fake_quant = described(
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8
    ),
    (
        "`default_fake_quant` as one operator.\n"
        "\n"
        ">>> torch.ao.quantization.default_fused_act_fake_quant().quant_max\n"
        "255\n"
    ),
)
default_fused_wt_fake_quant = described(
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=-128,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_tensor_symmetric,
    ),
    (
        "`default_weight_fake_quant` as one operator.\n"
        "\n"
        ">>> torch.ao.quantization.default_fused_wt_fake_quant().quant_max\n"
        "127\n"
    ),
)
default_fused_per_channel_wt_fake_quant = described(
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAveragePerChannelMinMaxObserver,
        quant_min=-128,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_channel_symmetric,
    ),
    (
        "`default_per_channel_weight_fake_quant` as one operator.\n"
        "\n"
        ">>> torch.ao.quantization.default_fused_per_channel_wt_fake_quant().quant_max\n"
        "127\n"
    ),
)
fused_wt_fake_quant_range_neg_127_to_127 = described(
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver,
        quant_min=-127,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_tensor_symmetric,
        eps=2**-12,
    ),
    (
        "`default_fused_wt_fake_quant` without -128.\n"
        "\n"
        ">>> torch.ao.quantization.fused_wt_fake_quant_range_neg_127_to_127().quant_max\n"
        "127\n"
    ),
)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = described(
    FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAveragePerChannelMinMaxObserver,
        quant_min=-127,
        quant_max=127,
        dtype=torch.qint8,
        qscheme=torch.per_channel_symmetric,
        eps=2**-12,
    ),
    (
        "`default_fused_per_channel_wt_fake_quant` without -128.\n"
        "\n"
        ">>> torch.ao.quantization.fused_per_channel_wt_fake_quant_range_neg_127_to_127().quant_max\n"
        "127\n"
    ),
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
