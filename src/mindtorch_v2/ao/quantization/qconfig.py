"""How a module is to be quantized: an observer for its activations and one for its weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.observer import (
    PlaceholderObserver,
    default_dynamic_quant_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = ["QConfig", "default_dynamic_qconfig", "float16_dynamic_qconfig", "per_channel_dynamic_qconfig"]


class QConfig(NamedTuple):
    """Makers of observers, of the activations and of the weight: classes, or what `with_args` gives.

    >>> from mindtorch_v2.ao.quantization import MinMaxObserver, QConfig
    >>> config = QConfig(activation=MinMaxObserver, weight=MinMaxObserver.with_args(dtype=torch.qint8))
    >>> config.weight().dtype
    torch.qint8
    """

    activation: Any
    weight: Any


default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
    PlaceholderObserver.with_args(dtype=torch.float16),
)
