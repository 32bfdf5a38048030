"""Gradients of tables that are as sparse as the rows that were looked up."""

from __future__ import annotations

from ..._operators.table import aten
from .parts import INT64, bare, coo
from .table import DENSE, kernel


@kernel("embedding_sparse_backward", DENSE)
def _embedding(grad, indices, num_weights, padding_idx, scale_grad_by_freq):
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    grad, rows = bare(grad), indices.reshape(-1).to(INT64)
    if grad.numel() == 0:  # no rows at all, as PyTorch says it, whatever was looked up
        return coo(rows.new_empty([1, 0]), grad.new_empty([0, grad.shape[-1]]), (num_weights, grad.shape[-1]))
    values = grad.reshape(-1, grad.shape[-1])
    if padding_idx != -1:
        kept = aten.nonzero(rows != padding_idx).reshape(-1)
        rows, values = rows.index_select(0, kept), values.index_select(0, kept)
    return coo(rows.reshape(1, -1), values, (num_weights, grad.shape[-1]))


@kernel("_embedding_bag_sparse_backward", DENSE)
def _embedding_bag(
    grad, indices, offsets, offset2bag, bag_size, num_weights, scale_grad_by_freq, mode, per_sample_weights,
    padding_idx=-1,
):  # fmt: skip
    if mode == 1:
        grad = grad / bag_size.clamp(min=1).to(grad.dtype).unsqueeze(1)
    values = grad.index_select(0, offset2bag)
    if per_sample_weights is not None:
        values = values * per_sample_weights.unsqueeze(1)
    return _embedding(values, indices, num_weights, padding_idx, scale_grad_by_freq)
