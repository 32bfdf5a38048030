"""Modules by torch_npu's names: PyTorch's where they compute the same, and names that raise when they are made."""

from mindtorch_v2 import Tensor, nn
from mindtorch_v2._core.unavailable import unavailable_names

__all__ = ["DropoutWithByteMask", "Mish", "NpuDropPath", "SiLU", "Swish"]

SiLU = nn.SiLU
Mish = nn.Mish


class Swish(nn.Module):
    """x sigmoid(x), as `SiLU`."""

    def forward(self, x: Tensor) -> Tensor:
        """x sigmoid(x)."""
        return nn.functional.silu(x)


class DropoutWithByteMask(nn.Dropout):
    """`torch.nn.Dropout`; the mask is one of booleans here, as everywhere."""

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 2**10 - 1) -> None:
        super().__init__(p, inplace)


class NpuDropPath(nn.Module):
    """Whole samples are zero with the probability `drop_prob` while training; the others grow by 1 / (1 - drop_prob)."""

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x: Tensor) -> Tensor:
        """The kept samples, and zeros."""
        if not self.drop_prob or not self.training:
            return x
        keep = 1 - self.drop_prob
        return x * x.new_empty([x.shape[0]] + [1] * (x.dim() - 1)).bernoulli_(keep) / keep


_ABSENT = unavailable_names(
    "torch_npu.contrib.module",
    classes="BiLSTM ChannelShuffle Focus LabelSmoothingCrossEntropy LinearA8W8Quant LinearQuant LinearWeightQuant "
    "ModulatedDeformConv MultiheadAttention NpuCachedDropout NpuFairseqDropout PSROIPool Prefetcher QuantConv2d ROIAlign",
)
globals().update(_ABSENT)
__all__ += sorted(_ABSENT)
