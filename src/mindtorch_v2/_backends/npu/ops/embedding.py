"""Embedding."""

from ..table import aclnn, call, kernel

_NOWHERE = (1 << 64) - 1  # no row is padding


@kernel("embedding_dense_backward")
def embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq, out) -> None:
    padding = padding_idx if padding_idx >= 0 else _NOWHERE
    call("aclnnEmbeddingDenseBackward", grad_output, indices, num_weights, padding, scale_grad_by_freq, out)


aclnn("embedding", "aclnnEmbedding", "weight indices out")
