"""Sorting, selection by rank, distinct elements, and look-up in sorted sequences."""

from __future__ import annotations

from ..table import S, T, not_derived, op, rule


def _scatter(grad, dim, indices, sizes):
    """The gradient of gathering `indices` along `dim`."""
    return grad.new_zeros(sizes).scatter(dim, indices, grad) if len(sizes) else grad


def _scatter_one(grad, dim, indices, sizes, keepdim):
    if len(sizes) == 0:
        return grad
    return (
        _scatter(grad, dim, indices, sizes)
        if keepdim
        else _scatter(grad.unsqueeze(dim), dim, indices.unsqueeze(dim), sizes)
    )


op(
    "_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
    "Distinct elements in ascending order, and where each element went.",
    bind="function generated_out",
    batching="refused",
    tags="dynamic_output_shape",
    grad={"self": not_derived("_unique")},
    samples=[S(T(8, dtype="int64", low=0, high=4), True, True)],
    dtypes="real bool",
)
op(
    "_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    "Distinct elements in ascending order, where each element went, and how often each occurs.",
    bind="function generated_out",
    batching="refused",
    tags="dynamic_output_shape",
    grad={"self": not_derived("_unique2")},
    samples=[S(T(8, dtype="int64", low=0, high=4), True, True, True)],
    dtypes="real bool",
)
op(
    "bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "The bucket of a number between sorted boundaries.",
    bind="function generated_out",
    meta=rule("search", "self", "out_int32"),
    kernel="bucketize",
    grad=None,
    samples=[],
)
op(
    "bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    "The bucket of each element between sorted boundaries.",
    bind="function out",
    out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) as "
    "out_int32 says, but is {out}",
    out_overload="Tensor_out",
    meta=rule("search", "self", "out_int32"),
    kernel="bucketize",
    grad=None,
    samples=[],
    dtypes="real",
)
op(
    "isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
    "Whether a number is among the test elements.",
    bind="function out",
    out_dtype="exact",
    out_overload="Scalar_Tensor_out",
    meta=rule("isin", "element"),
    kernel="isin",
    grad=None,
)
op(
    "isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
    "Whether each element equals a number.",
    bind="function out",
    out_dtype="exact",
    out_overload="Tensor_Scalar_out",
    meta=rule("isin", "elements"),
    kernel="isin",
    grad=None,
    samples=[S(T(6, dtype="int64", low=0, high=4), 2)],
    dtypes="real",
)
op(
    "isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False)"
    " -> Tensor",
    "Whether each element is among the test elements.",
    bind="function out",
    out_dtype="exact",
    meta=rule("isin", "elements"),
    kernel="isin",
    grad=None,
    samples=[S(T(2, 6, dtype="int64", low=0, high=6), T(3, dtype="int64", low=0, high=6))],
    dtypes="real",
)
op(
    "kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The k-th smallest elements along `dim`, counted from 1, and their positions.",
    bind="function method out",
    out_overload="values",
    out_dtype="exact",
    batching="reduction",
    meta=rule("ranked", "self", "dim", "keepdim", "k"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim, result1: _scatter_one(grad, dim, result1, self_sizes, keepdim)
    },
    samples=[S(T(3, 5), 2), S(T(3, 4), 1, 0, True)],
    dtypes="floating",  # of the samples: the positions of ties are not specified
)
op(
    "searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False,"
    " str? side=None, Tensor? sorter=None) -> Tensor",
    "Where a number would be inserted to keep a sequence sorted.",
    bind="function out",
    out_overload="Scalar_out",
    meta=rule("search", "self", "out_int32"),
    kernel="searchsorted",
    grad=None,
)
op(
    "searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False,"
    " str? side=None, Tensor? sorter=None) -> Tensor",
    "Where each element would be inserted to keep the innermost dimension of a sequence sorted.",
    bind="function out",
    out_dtype="torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) as "
    "out_int32 says, but is {out}",
    out_overload="Tensor_out",
    meta=rule("search", "self", "out_int32"),
    kernel="searchsorted",
    grad=None,
    dtypes="real",
)
op(
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "The elements sorted along `dim` (ties keep their order, NaN is largest), and where each came from.",
    bind="function method out",
    out_overload="values",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("sort", "self", "dim"),
    grad={"self": lambda grad, self_sizes, dim, result1: _scatter(grad, dim, result1, self_sizes)},
    samples=[S(3, 4), S(T(3, 4), 0, True)],
    dtypes="real bool",
)
op(
    "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "The elements sorted along `dim`, ties in their order, and where each came from.",
    bind="function method out",
    out_overload="values_stable",
    out_dtype="exact",
    batching="dims",
    meta=rule("sort", "self", "dim"),
    grad={"self": lambda grad, self_sizes, dim, result1: _scatter(grad, dim, result1, self_sizes)},
    samples=[S(T(3, 4), stable=True, dim=0)],
    dtypes="real bool",
)
op(
    "topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
    "The k largest (or smallest) elements along `dim`, in order, and their positions.",
    bind="function method out",
    out_overload="values",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("topk", "self", "k", "dim"),
    grad={"self": lambda grad, self_sizes, dim, result1: _scatter(grad, dim, result1, self_sizes)},
    samples=[S(T(3, 5), 2), S(T(3, 5), 2, 0, False)],
    dtypes="floating",  # of the samples: the positions of ties are not specified
)
op(
    "unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)"
    " -> (Tensor, Tensor, Tensor)",
    "One element of each run of equal neighbours.",
    bind="generated_out",
    batching="refused",
    tags="dynamic_output_shape",
    grad={"self": not_derived("unique_consecutive")},
    samples=[S(T(8, dtype="int64", low=0, high=2), True, True)],
    dtypes="real bool",
)
op(
    "unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    "Distinct slices along `dim` in ascending order.",
    bind="generated_out",
    batching="refused",
    tags="dynamic_output_shape",
    grad={"self": not_derived("unique_dim")},
    samples=[S(T(6, 2, dtype="int64", low=0, high=2), 0, True, True, True)],
    dtypes="real bool",
)
op(
    "unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    "One slice of each run of equal neighbours along `dim`.",
    bind="generated_out",
    batching="refused",
    tags="dynamic_output_shape",
    grad={"self": not_derived("unique_dim_consecutive")},
    samples=[S(T(6, 2, dtype="int64", low=0, high=2), 0, True, True)],
    dtypes="real bool",
)
