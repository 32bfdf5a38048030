"""Operators of PyTorch that only other vendors' libraries compute: programs and tests name them in their tables.

Each has PyTorch's schema and no kernel, so that a call says which backends there are.
"""

from __future__ import annotations

from mindtorch_v2.library import Library

_BATCH_NORM = (
    "(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, "
    "float exponential_average_factor, float epsilon)"
)
_library = Library("aten", "FRAGMENT")
for _schema in (
    "_use_cudnn_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank) -> bool",
    "_use_cudnn_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank)"
    " -> bool",
    "cudnn_grid_sampler(Tensor self, Tensor grid) -> Tensor output",
    f"cudnn_batch_norm{_BATCH_NORM} -> (Tensor, Tensor, Tensor, Tensor)",
    f"miopen_batch_norm{_BATCH_NORM} -> (Tensor, Tensor, Tensor)",
):
    _library.define(_schema)
