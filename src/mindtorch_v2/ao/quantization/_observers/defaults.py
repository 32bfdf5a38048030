"""Makers of observers with the arguments that PyTorch's configurations give them."""

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization._observers.base import described
from mindtorch_v2.ao.quantization._observers.histogram import HistogramObserver
from mindtorch_v2.ao.quantization._observers.min_max import MinMaxObserver, PerChannelMinMaxObserver
from mindtorch_v2.ao.quantization._observers.passing import (
    FixedQParamsObserver,
    PlaceholderObserver,
    RecordingObserver,
    ReuseInputObserver,
)

__all__ = [
    "default_affine_fixed_qparams_observer",
    "default_debug_observer",
    "default_dynamic_quant_observer",
    "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer",
    "default_float_qparams_observer_4bit",
    "default_histogram_observer",
    "default_observer",
    "default_per_channel_weight_observer",
    "default_placeholder_observer",
    "default_reuse_input_observer",
    "default_symmetric_fixed_qparams_observer",
    "default_weight_observer",
    "per_channel_weight_observer_range_neg_127_to_127",
    "weight_observer_range_neg_127_to_127",
]

default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_reuse_input_observer = ReuseInputObserver
default_observer = described(
    MinMaxObserver.with_args(quant_min=0, quant_max=127),
    (
        "Maker of an observer of activations in seven bits.\n"
        "\n"
        ">>> observer = torch.ao.quantization.default_observer()\n"
        ">>> observer.quant_min, observer.quant_max\n"
        "(0, 127)\n"
    ),
)
default_weight_observer = described(
    MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric),
    (
        "Maker of an observer of a weight: qint8, one scale, the zero point 0.\n"
        "\n"
        ">>> observer = torch.ao.quantization.default_weight_observer()\n"
        ">>> _ = observer(torch.tensor([-1.0, 2.55]))\n"
        ">>> observer.calculate_qparams()\n"
        "(tensor([0.0200]), tensor([0]))\n"
    ),
)
weight_observer_range_neg_127_to_127 = described(
    MinMaxObserver.with_args(
        dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
    ),
    (
        "`default_weight_observer` without -128.\n"
        "\n"
        ">>> torch.ao.quantization.weight_observer_range_neg_127_to_127().quant_min\n"
        "-127\n"
    ),
)
default_histogram_observer = described(
    HistogramObserver.with_args(quant_min=0, quant_max=127),
    (
        "Maker of a histogram of activations, for seven bits.\n"
        "\n"
        ">>> torch.ao.quantization.default_histogram_observer().bins\n"
        "2048\n"
    ),
)
default_per_channel_weight_observer = described(
    PerChannelMinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_channel_symmetric),
    (
        "Maker of an observer of a weight: qint8, a scale for each output channel.\n"
        "\n"
        ">>> observer = torch.ao.quantization.default_per_channel_weight_observer()\n"
        ">>> _ = observer(torch.tensor([[1.275, 0.0], [-2.55, 0.0]]))\n"
        ">>> observer.calculate_qparams()[0]\n"
        "tensor([0.0100, 0.0200])\n"
    ),
)
per_channel_weight_observer_range_neg_127_to_127 = described(
    PerChannelMinMaxObserver.with_args(
        dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
    ),
    (
        "`default_per_channel_weight_observer` without -128.\n"
        "\n"
        ">>> torch.ao.quantization.per_channel_weight_observer_range_neg_127_to_127().quant_min\n"
        "-127\n"
    ),
)
default_dynamic_quant_observer = described(
    PlaceholderObserver.with_args(dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True),
    (
        "Maker of an observer of activations that are quantized as they come, to quint8.\n"
        "\n"
        ">>> torch.ao.quantization.default_dynamic_quant_observer().is_dynamic\n"
        "True\n"
    ),
)
default_float_qparams_observer = described(
    PerChannelMinMaxObserver.with_args(dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0),
    (
        "Maker of an observer of an embedding's weight: quint8, zero points that are floats.\n"
        "\n"
        ">>> observer = torch.ao.quantization.default_float_qparams_observer()\n"
        ">>> _ = observer(torch.tensor([[0.5, 3.05]]))\n"
        ">>> observer.calculate_qparams()\n"
        "(tensor([0.0100]), tensor([-50.]))\n"
    ),
)
default_float_qparams_observer_4bit = described(
    PerChannelMinMaxObserver.with_args(dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0),
    (
        "`default_float_qparams_observer` for four bits.\n"
        "\n"
        ">>> torch.ao.quantization.default_float_qparams_observer_4bit().quant_max\n"
        "15\n"
    ),
)
default_fixed_qparams_range_neg1to1_observer = described(
    FixedQParamsObserver.with_args(scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255),
    (
        "Maker of the observer of functions whose results lie between -1 and 1.\n"
        "\n"
        ">>> torch.ao.quantization.default_fixed_qparams_range_neg1to1_observer().calculate_qparams()\n"
        "(tensor([0.0078]), tensor([128], dtype=torch.int32))\n"
    ),
)
default_fixed_qparams_range_0to1_observer = described(
    FixedQParamsObserver.with_args(scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255),
    (
        "Maker of the observer of functions whose results lie between 0 and 1.\n"
        "\n"
        ">>> torch.ao.quantization.default_fixed_qparams_range_0to1_observer().calculate_qparams()\n"
        "(tensor([0.0039]), tensor([0], dtype=torch.int32))\n"
    ),
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
