"""embedding_bag as PyTorch's functional calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


_ARGUMENTS = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq{0}, int mode{1}, bool sparse{0}, "
    "Tensor? per_sample_weights{2}, bool include_last_offset{0}"
)
_RETURNS = "(Tensor, Tensor, Tensor, Tensor)"


@composite(
    f"embedding_bag({_ARGUMENTS.format('=False', '=0', '=None')}) -> {_RETURNS}",
    "Sums, means or maxima of bags of table rows.",
    bind="function",
)
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool=False, mode: int=0, sparse: bool=False, per_sample_weights: Tensor | None=None, include_last_offset: bool=False) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    return aten._embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, -1)  # fmt: skip


@composite(
    f"embedding_bag.padding_idx({_ARGUMENTS.format('', '', '')}, int? padding_idx) -> {_RETURNS}",
    "Bags of table rows, one row left out.",
    bind="function",
)
def embedding_bag_padding(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool, per_sample_weights: Tensor | None, include_last_offset: bool, padding_idx: int | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{weight.shape[0]} through {weight.shape[0] - 1}, but got {padding_idx}"
        )
    elif padding_idx < 0:
        padding_idx += weight.shape[0]
    return aten._embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx)  # fmt: skip
