"""Modules by torch_npu's names: PyTorch's where they compute the same, and names that raise when they are made."""

from mindtorch_v2._core.unavailable import unavailable_names

from .activations import Mish, SiLU, Swish
from .batchnorm_with_int32_count import FastBatchNorm1d, FastBatchNorm2d, FastBatchNorm3d, FastSyncBatchNorm
from .bidirectional_lstm import BiLSTM
from .channel_shuffle import ChannelShuffle
from .crossentropy import LabelSmoothingCrossEntropy
from .deform_conv import DCNv2, ModulatedDeformConv
from .drop_path import NpuDropPath
from .ensemble_dropout import NpuCachedDropout, NpuFairseqDropout
from .focus import Focus
from .fusedcolorjitter import FusedColorJitter
from .linear_quant import LinearA8W8Quant, LinearQuant, LinearWeightQuant
from .multihead_attention import MultiheadAttention
from .npu_modules import DropoutWithByteMask
from .prefetcher import Prefetcher
from .ps_roi_pooling import PSROIPool
from .roi_align import ROIAlign

_ABSENT = unavailable_names("torch_npu.contrib.module", classes="QuantConv2d")
globals().update(_ABSENT)
__all__ = [
    "BiLSTM",
    "ChannelShuffle",
    "DCNv2",
    "DropoutWithByteMask",
    "FastBatchNorm1d",
    "FastBatchNorm2d",
    "FastBatchNorm3d",
    "FastSyncBatchNorm",
    "Focus",
    "FusedColorJitter",
    "LabelSmoothingCrossEntropy",
    "LinearA8W8Quant",
    "LinearQuant",
    "LinearWeightQuant",
    "Mish",
    "ModulatedDeformConv",
    "MultiheadAttention",
    "NpuCachedDropout",
    "NpuDropPath",
    "NpuFairseqDropout",
    "PSROIPool",
    "Prefetcher",
    "ROIAlign",
    "SiLU",
    "Swish",
    *_ABSENT,
]
