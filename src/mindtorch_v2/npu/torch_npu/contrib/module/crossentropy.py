"""Cross entropy with smoothed labels."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["LabelSmoothingCrossEntropy"]


class LabelSmoothingCrossEntropy(nn.Module):
    """The mean cross entropy with the share `smooth_factor` of each label spread evenly over the other classes.

    Shape:
        Scores (n, classes) and labels (n), whole numbers of any dtype; a float32 number.
    """

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value = 1.0 - smooth_factor
        self.off_value = smooth_factor / (num_classes - 1)

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        there = torch.arange(pred.shape[1], device=pred.device) == target.long().unsqueeze(1)
        labels = torch.where(there, self.on_value, self.off_value).to(pred.dtype)
        return torch.ops.npu.npu_softmax_cross_entropy_with_logits(pred, labels).float().mean()
