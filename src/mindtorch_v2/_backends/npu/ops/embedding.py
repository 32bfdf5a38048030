"""Embedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


_NOWHERE = (1 << 64) - 1  # no row is padding


@kernel("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, out: Tensor
) -> None:
    padding = padding_idx if padding_idx >= 0 else _NOWHERE
    call("aclnnEmbeddingDenseBackward", grad_output, indices, num_weights, padding, scale_grad_by_freq, out)


aclnn("embedding", "aclnnEmbedding", "weight indices out")
