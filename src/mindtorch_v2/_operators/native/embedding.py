"""Tables looked up by row: embedding and embedding_bag."""

from ..._core.dtype import DTYPES
from ..table import S, T, aten, not_derived, op, rule


def _embedding_backward(grad, weight_sizes, indices, padding_idx, scale_grad_by_freq, sparse):
    if sparse:
        return aten.embedding_sparse_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq)
    return aten.embedding_dense_backward(grad, indices, weight_sizes[0], padding_idx, scale_grad_by_freq)


def _embedding_bag_backward(
    grad0, needs, weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx,
    result1, result2, result3,
) -> tuple:  # fmt: skip
    for_weight = for_samples = None
    if needs[0] and sparse:
        for_weight = aten._embedding_bag_sparse_backward(
            grad0, indices, offsets, result1, result2, weight.shape[0], scale_grad_by_freq, mode, per_sample_weights,
            padding_idx,
        )  # fmt: skip
    elif needs[0]:
        for_weight = aten._embedding_bag_dense_backward(
            grad0, indices, result1, result2, result3, weight.shape[0], scale_grad_by_freq, mode, per_sample_weights,
            padding_idx,
        )  # fmt: skip
    if needs[1]:
        for_samples = aten._embedding_bag_per_sample_weights_backward(
            grad0, weight, indices, offsets, result1, mode, padding_idx
        )
    return for_weight, for_samples


def _embedding_bag_meta(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=-1,
) -> tuple:  # fmt: skip
    bags = offsets.shape[0] - include_last_offset
    winners = (bags, weight.shape[1]) if mode == 2 else (bags,)
    numbers = [indices.new_empty(size, dtype=DTYPES["int64"]) for size in (indices.shape, (bags,), winners)]
    return weight.new_empty((bags, weight.shape[1])), *numbers


op(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    "Sums, means or maxima of bags of table rows; also the bag of each index, bag sizes and winning rows.",
    bind="function generated_out",
    tags="core",
    meta_kernel=_embedding_bag_meta,
    grad={("weight", "per_sample_weights"): _embedding_bag_backward},
    nondiff=(1, 2, 3),
)
op(
    "_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
    "Gradient of the table of an `embedding_bag`.",
    bind="generated_out",
    meta=rule("_embedding_bag_dense_backward"),
    grad=None,
    underived=True,
)
op(
    "_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    "`_embedding_bag` for when no gradient is needed.",
    bind="function generated_out",
    meta_kernel=_embedding_bag_meta,
    grad=None,
)
op(
    "_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
    "Gradient of the weights of the samples of an `embedding_bag`.",
    bind="generated_out",
    meta=rule("_embedding_bag_per_sample_weights_backward"),
    grad=None,
    underived=True,
)
op(
    "embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
    "The rows of a table that the indices name.",
    bind="function out",
    out_dtype="exact",
    tags="core",
    out_tags="generated",
    linear="weight",
    meta=rule("embedding"),
    grad={"weight": _embedding_backward},
    samples=[S(T(5, 3), T(2, 4, dtype="int64", low=0, high=5)), S(T(5, 3), T(4, dtype="int64", low=0, high=5))],
)
op(
    "embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor",
    "Gradient of an embedding's table: the gradients of equal indices summed.",
    bind="out",
    out_dtype="exact",
    tags="core",
    out_tags="generated",
    meta=rule("embedding_dense_backward"),
    grad={
        "grad_output": lambda grad, indices, padding_idx: _embedding_double_backward(grad, indices, padding_idx),
    },
    samples=[S(T(4, 3), T(4, dtype="int64", low=0, high=5), 5, -1, False)],
)
op(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
    "Rows that are looked up and longer than `max_norm`, shortened to it in place.",
    bind="function",
    grad={"self": not_derived("embedding_renorm")},
)


def _embedding_double_backward(grad, indices, padding_idx):
    rows = aten.embedding(grad, indices)
    return rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0) if padding_idx >= 0 else rows
