"""The quantized module or operator for each that a reference graph computes with, as PyTorch's own back end pairs them."""

from __future__ import annotations

import operator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.nn import quantized as nnq
from mindtorch_v2.ao.nn.intrinsic import quantized as nniq
from mindtorch_v2.ao.nn.intrinsic.quantized import dynamic as nniqd
from mindtorch_v2.ao.nn.quantized import dynamic as nnqd
from mindtorch_v2.ao.nn.quantized import reference as nnqr
from mindtorch_v2.ao.quantization.quantization_mappings import DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS, _named
from mindtorch_v2.nn import functional as F

__all__ = [
    "BINARY",
    "DYNAMIC",
    "DYNAMIC_FUNCTIONS",
    "KEEPS_VALUES",
    "OF_ITS_OWN",
    "SWAPPED",
    "STATIC",
    "STATIC_FUNCTIONS",
    "TRANSPOSED",
    "TWO_INPUTS",
    "WEIGHT_ONLY",
]

_quantized = torch.ops.quantized


# Reference module -> (class of the part that holds the weight, or None where it is the module itself, quantized module)
STATIC: dict[type, tuple[type | None, type]] = {
    **{kind: (None, to) for kind, to in _named(nnqr, nnq, "Linear Conv1d Conv2d Conv3d").items()},
    nni.LinearReLU: (nnqr.Linear, nniq.LinearReLU),
    nni.LinearLeakyReLU: (nnqr.Linear, nniq.LinearLeakyReLU),
    nni.LinearTanh: (nnqr.Linear, nniq.LinearTanh),
    nni.ConvReLU1d: (nnqr.Conv1d, nniq.ConvReLU1d),
    nni.ConvReLU2d: (nnqr.Conv2d, nniq.ConvReLU2d),
    nni.ConvReLU3d: (nnqr.Conv3d, nniq.ConvReLU3d),
}
TWO_INPUTS: dict[type, tuple[type | None, type]] = {
    nni.ConvAdd2d: (nnqr.Conv2d, nniq.ConvAdd2d),
    nni.ConvAddReLU2d: (nnqr.Conv2d, nniq.ConvAddReLU2d),
}
DYNAMIC: dict[type, tuple[type | None, type]] = {
    **{kind: (None, to) for kind, to in _named(nnqr, nnqd, "Linear GRUCell LSTMCell RNNCell LSTM GRU").items()},
    nni.LinearReLU: (nnqr.Linear, nniqd.LinearReLU),
}
WEIGHT_ONLY: dict[type, type] = _named(nnqr, nnq, "Embedding EmbeddingBag")

# Modules that take a quantized tensor as they are, or by a class of their own.
SWAPPED: dict[type, type] = {
    **_named(
        nn, nnq, "ELU LeakyReLU Hardswish LayerNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d Dropout Softmax PReLU"
    ),
    **_named(nn, nnq, "BatchNorm2d BatchNorm3d"),
    **_named(nni, nniq, "BNReLU2d BNReLU3d"),
    **_named(nnqr, nnq, "ConvTranspose1d ConvTranspose2d ConvTranspose3d"),
}
# Functions with a quantized form that asks for the scale and zero point of its result.
OF_ITS_OWN = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS
# Functions, names of methods and modules that give the numbers of their input, or for which the scale is known.
KEEPS_VALUES: tuple[set[Any], set[str], set[type]] = (
    {
        *(getattr(F, f"{kind}_pool{n}d") for kind in ("adaptive_avg", "avg", "max") for n in (1, 2, 3)),
        *(F.hardtanh, F.hardtanh_, F.interpolate, F.relu, F.relu6, torch.avg_pool1d, torch.clamp, torch.flatten),
        *(torch.mean, operator.floordiv, torch.channel_shuffle, torch.pixel_shuffle, torch.pixel_unshuffle),
        *(F.hardsigmoid, F.sigmoid, torch.sigmoid, torch.tanh),
        *(torch.narrow, torch.transpose, torch.repeat_interleave, torch.squeeze, torch.stack, torch.unsqueeze),
        *(F.pixel_shuffle, F.pixel_unshuffle, torch.cat),
    },
    set(
        "clamp mean relu relu_ hardsigmoid hardsigmoid_ sigmoid sigmoid_ tanh tanh_ contiguous detach detach_ permute repeat "
        "repeat_interleave reshape resize_ shape size squeeze squeeze_ transpose unsqueeze unsqueeze_ view".split()
    ),
    {
        *(getattr(nn, f"{kind}Pool{n}d") for kind in ("AdaptiveAvg", "Avg", "Max") for n in (1, 2, 3)),
        *(nn.Hardtanh, nn.ReLU, nn.ReLU6, nn.PixelShuffle, nn.PixelUnshuffle, nn.ChannelShuffle, nn.Identity),
        *(nn.Hardsigmoid, nn.Sigmoid, nn.Tanh, nn.Softmax),
    },
)

# Function of a tensor and a weight -> (operator, operator with a ReLU or None, what packs the weight)
STATIC_FUNCTIONS: dict[Any, tuple[Any, Any, Any]] = {
    F.linear: (_quantized.linear, _quantized.linear_relu, _quantized.linear_prepack),
    **{
        getattr(F, f"conv{n}d"): tuple(getattr(_quantized, f"conv{n}d{end}") for end in ("", "_relu", "_prepack"))
        for n in (1, 2, 3)
    },
    **{
        getattr(F, f"conv_transpose{n}d"): (
            getattr(_quantized, f"conv_transpose{n}d"),
            None,
            getattr(_quantized, f"conv_transpose{n}d_prepack"),
        )
        for n in (1, 2, 3)
    },
}
TRANSPOSED = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
# The same for numbers that are quantized as they come: by the dtype of these.
DYNAMIC_FUNCTIONS: dict[tuple[Any, torch.dtype], tuple[Any, Any, Any]] = {
    (F.linear, torch.quint8): (_quantized.linear_dynamic, _quantized.linear_relu_dynamic, _quantized.linear_prepack),
    (F.linear, torch.float16): (
        _quantized.linear_dynamic_fp16,
        _quantized.linear_relu_dynamic_fp16,
        _quantized.linear_prepack_fp16,
    ),
    **{
        (getattr(F, f"conv{n}d"), torch.quint8): (
            getattr(_quantized, f"conv{n}d_dynamic"),
            None,
            getattr(_quantized, f"conv{n}d_prepack"),
        )
        for n in (1, 2, 3)
    },
}
# Function of two tensors -> (operator, operator with a ReLU or None)
BINARY: dict[Any, tuple[Any, Any]] = {
    operator.add: (_quantized.add, _quantized.add_relu),
    torch.add: (_quantized.add, _quantized.add_relu),
    operator.mul: (_quantized.mul, _quantized.mul_relu),
    torch.mul: (_quantized.mul, _quantized.mul_relu),
    torch.matmul: (_quantized.matmul, None),
}
