"""Reductions: sums, products, extrema, moments, norms, truth and counts."""

from __future__ import annotations

import math

from ..table import S, T, aten, conj, not_recorded, op, rule


def _dims(dim, ndim: int) -> list[int]:
    """The reduced dimensions, ascending; None and an empty list mean all."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return list(range(ndim))
    listed = [dim] if isinstance(dim, int) else dim
    return sorted(d % max(ndim, 1) for d in listed)


def _keep(x, dim, sizes, keepdim: bool):
    """``x``, a reduction over ``dim`` of a tensor of ``sizes``, with the reduced dimensions as ones."""
    if keepdim or len(sizes) == 0:
        return x
    for d in _dims(dim, len(sizes)):
        x = x.unsqueeze(d)
    return x


def _spread(grad, dim, sizes, keepdim: bool):
    """The gradient of a sum: the same value along every reduced dimension."""
    return _keep(grad, dim, sizes, keepdim).expand(sizes)


def _count(dim, sizes) -> int:
    """Elements of each reduction."""
    return math.prod(sizes[d] for d in _dims(dim, len(sizes))) if len(sizes) else 1


def _share(grad, self, result, dim, keepdim):
    """The gradient of an extremum, divided evenly among the elements that attain it (NaN attains NaN)."""
    sizes = self.shape
    best = _keep(result, dim, sizes, keepdim)
    mask = (self == best) | (self.isnan() & best.isnan()) if self.is_floating_point() else self == best
    return _keep(grad, dim, sizes, keepdim) * mask / mask.sum(_dims(dim, len(sizes)), keepdim=True)


def _place(grad, dim: int, indices, sizes, keepdim: bool):
    """The gradient of picking one element along ``dim``."""
    if len(sizes) == 0:
        return grad
    if not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


def _product_of_others(x, dim: int):
    """For each element the product of all others along ``dim``, zeros allowed."""
    n = x.size(dim)
    ones = aten.ones_like(x.narrow(dim, 0, 1))
    before = aten.cat([ones, x.narrow(dim, 0, n - 1)], dim).cumprod(dim)
    after = aten.cat([ones, x.flip([dim]).narrow(dim, 0, n - 1)], dim).cumprod(dim).flip([dim])
    return before * after


def _prod_grad(grad, self, result):
    if self.numel() == 0:
        return aten.zeros_like(self)
    if not (self == 0).any().item():
        return grad * conj(result / self)
    return (grad * conj(_product_of_others(self.reshape(-1), 0))).view(self.shape)


def _prod_dim_grad(grad, self, dim, keepdim, result):
    if self.dim() == 0 or self.numel() == 0:
        return grad.expand(self.shape)
    grad, result = _keep(grad, dim, self.shape, keepdim), _keep(result, dim, self.shape, keepdim)
    if not (self == 0).any().item():
        return grad * conj(result / self)
    return grad * conj(_product_of_others(self, dim))


def _var_grad(grad, self, dim, correction, keepdim):
    freedom = _count(dim, self.shape) - (1 if correction is None else correction)
    centred = self - self.mean(_dims(dim, self.dim()), keepdim=True)
    scale = 2.0 / freedom if freedom > 0 else math.inf if freedom == 0 else -math.inf
    return _keep(grad, dim, self.shape, keepdim) * (centred * scale)


def _std_grad(grad, self, dim, correction, keepdim, result):
    slope = (grad / (result * 2)).masked_fill(result == 0, 0)
    return _var_grad(slope, self, dim, correction, keepdim)


def _norm_grad(grad, self, ord, dim, keepdim, result):
    grad, norm = _keep(grad, dim, self.shape, keepdim), _keep(result, dim, self.shape, keepdim)
    if ord == 0:
        return aten.zeros_like(self)
    if ord == 1:
        return self.sgn() * grad
    if ord == 2:
        return grad * (self / norm).masked_fill(norm == 0, 0)
    if math.isinf(ord):
        magnitude = self.abs()
        mask = (magnitude == norm) | (magnitude.isnan() & norm.isnan())
        return self.sgn() * (mask * grad / mask.sum(_dims(dim, self.dim()), keepdim=True))
    if ord < 1:
        slope = self.sgn() * self.abs().pow(ord - 1).masked_fill(self == 0, 0)
        return slope * (grad * norm.pow(1 - ord))
    if ord < 2:
        slope = self.sgn() * self.abs().pow(ord - 1)
        return slope * (grad / norm.pow(ord - 1)).masked_fill(norm == 0, 0)
    return self * self.abs().pow(ord - 2) * (grad / norm.pow(ord - 1)).masked_fill(norm == 0, 0)


_ALL_DTYPES = "all"

op(
    "all(Tensor self) -> Tensor",
    "Whether all elements are nonzero.",
    bind="function method out",
    out_overload="all_out",
    tags="reduction",
    sharding="min",
    meta=rule("reduce_bool", "self"),
    grad=None,
    samples=[S(T(3, 4, dtype="bool")), S(3, 4), S(0, 3)],
    dtypes=_ALL_DTYPES,
)
op(
    "all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "Whether all elements along `dim` are nonzero.",
    bind="function method out",
    out_overload="out",
    batching="reduction",
    tags="reduction",
    sharding="min",
    meta=rule("reduce_bool", "self", -1, "dim", "keepdim"),
    grad=None,
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, keepdim=True)],
    dtypes=_ALL_DTYPES,
)
op(
    "all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "Whether all elements along the dimensions `dim` are nonzero.",
    bind="function method out",
    batching="reduction",
    tags="reduction",
    sharding="min",
    meta=rule("reduce_bool", "self", -1, "dim", "keepdim"),
    grad=None,
    samples=[S(T(3, 4, 2), (0, 2)), S(T(3, 4), (), keepdim=True)],
    dtypes=_ALL_DTYPES,
)
op(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    "The largest elements along the dimensions `dim`; NaN where there is one.",
    bind="function method out",
    out_dtype="Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for "
    "out's dtype.",
    batching="reduction",
    tags="core reduction",
    sharding="max",
    meta=rule("reduce_extremum", "self", -1, "dim", "keepdim"),
    grad={"self": lambda grad, self, dim, keepdim, result: _share(grad, self, result, dim, keepdim)},
    samples=[S(3, 4), S(T(3, 4), 1), S(T(2, 3, 4), (0, 2), True)],
    dtypes="real bool",
)
op(
    "amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    "The smallest elements along the dimensions `dim`; NaN where there is one.",
    bind="function method out",
    out_dtype="Expected the dtype for input and out to match, but got {result} for input's dtype and {out} for "
    "out's dtype.",
    batching="reduction",
    tags="core reduction",
    sharding="min",
    meta=rule("reduce_extremum", "self", -1, "dim", "keepdim"),
    grad={"self": lambda grad, self, dim, keepdim, result: _share(grad, self, result, dim, keepdim)},
    samples=[S(3, 4), S(T(3, 4), 1), S(T(2, 3, 4), (0, 2), True)],
    dtypes="real bool",
)
op(
    "aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    "The smallest and the largest elements along `dim`, or of all.",
    bind="function method out",
    out_dtype="exact",
    batching="reduction",
    tags="reduction",
    meta=rule("reduce_pair", "self", -1, "dim", "keepdim"),
    grad={
        "self": lambda grad0, grad1, self, dim, keepdim, result0, result1: (
            _share(grad0, self, result0, dim, keepdim) + _share(grad1, self, result1, dim, keepdim)
        )
    },
    samples=[S(3, 4), S(T(3, 4), dim=1), S(T(3, 4), dim=0, keepdim=True)],
    dtypes="real bool",
)
op(
    "any(Tensor self) -> Tensor",
    "Whether any element is nonzero.",
    bind="function method out",
    out_overload="all_out",
    tags="core reduction",
    sharding="max",
    meta=rule("reduce_bool", "self"),
    grad=None,
    samples=[S(T(3, 4, dtype="bool")), S(3, 4), S(0, 3)],
    dtypes=_ALL_DTYPES,
)
op(
    "any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
    "Whether any element along `dim` is nonzero.",
    bind="function method out",
    out_overload="out",
    batching="reduction",
    tags="core reduction",
    sharding="max",
    meta=rule("reduce_bool", "self", -1, "dim", "keepdim"),
    grad=None,
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, keepdim=True)],
    dtypes=_ALL_DTYPES,
)
op(
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    "Whether any element along the dimensions `dim` is nonzero.",
    bind="function method out",
    batching="reduction",
    tags="core reduction",
    sharding="max",
    meta=rule("reduce_bool", "self", -1, "dim", "keepdim"),
    grad=None,
    samples=[S(T(3, 4, 2), (0, 2)), S(T(3, 4), (), keepdim=True)],
    dtypes=_ALL_DTYPES,
)
op(
    "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    "The position of the largest element along `dim`, or of all elements in row-major order.",
    bind="function method out",
    out_dtype="exact",
    batching="reduction",
    tags="core reduction",
    meta=rule("reduce_argument", "self", -1, "dim", "keepdim"),
    grad=None,
    samples=[S(3, 4), S(T(3, 4), 1), S(T(3, 4), 0, True)],
    dtypes="real",
)
op(
    "argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    "The position of the smallest element along `dim`, or of all elements in row-major order.",
    bind="function method out",
    out_dtype="exact",
    batching="reduction",
    tags="core reduction",
    meta=rule("reduce_argument", "self", -1, "dim", "keepdim"),
    grad=None,
    samples=[S(3, 4), S(T(3, 4), 1), S(T(3, 4), 0, True)],
    dtypes="real",
)
op(
    "bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
    "How often each non-negative integer occurs, or the sum of its weights.",
    bind="function method generated_out",
    tags="dynamic_output_shape",
    grad={"weights": not_recorded("bincount")},
    node="NotImplemented",
    samples=[S(T(6, dtype="int64", low=0, high=5)), S(T(6, dtype="int64", low=0, high=5), T(6, grad=False), 8)],
    dtypes="integer",
)
op(
    "count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    "How many elements along the dimensions `dim` are nonzero.",
    bind="function method generated_out",
    batching="reduction",
    tags="reduction",
    kernel="count_nonzero",
    sharding="sum",
    meta=rule("reduce_int64", "self", -1, "dim"),
    grad=None,
    samples=[S(T(3, 4, 2), (0, 2))],
    dtypes=_ALL_DTYPES,
)
op(
    "count_nonzero(Tensor self, int? dim=None) -> Tensor",
    "How many elements are nonzero, along `dim` or in all.",
    bind="function method generated_out",
    batching="reduction",
    tags="reduction",
    meta=rule("reduce_int64", "self", -1, "dim"),
    grad=None,
    samples=[S(3, 4), S(T(3, 4), 1)],
    dtypes=_ALL_DTYPES,
)
op(
    "histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
    "Counts of the elements in `bins` equal intervals of [min, max], or of the data's own range.",
    bind="function method out",
    out_dtype="torch.histogram: input tensor and hist tensor should have the same dtype, but got input "
    "{result_cpp} and hist {out_cpp}",
    meta=rule("histc", "self", "bins"),
    grad=None,
    samples=[S(T(20), 5), S(T(20), 4, -1, 1)],
)
op(
    "linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    "The vector norm of order `ord` along the dimensions `dim`.",
    bind="linalg out",
    out_dtype="exact",
    batching="reduction",
    tags="reduction",
    sharding="norm",
    meta=rule("reduce_norm", "self", "dtype", "dim", "keepdim"),
    grad={"self": _norm_grad},
    samples=[S(3, 4), S(T(3, 4), 1, 1), S(T(3, 4), 3, (0,), True), S(T(3, 4), math.inf), S(T(3, 4), 0.5)],
    dtypes="floating complex",
)
op(
    "logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    "Logarithm of the sum of exponentials along the dimensions `dim`.",
    bind="function method out",
    batching="reduction",
    tags="reduction",
    alias="special_logsumexp",
    meta=rule("reduce_float", "self", -1, "dim", "keepdim"),
    grad={
        "self": lambda grad, self, dim, keepdim, result: (
            _keep(grad, dim, self.shape, keepdim)
            * conj((self - _keep(result, dim, self.shape, keepdim)).exp().masked_fill(self == -math.inf, 0))
        )
    },
    samples=[S(T(3, 4), 1), S(T(3, 4, 2), (0, 2), True)],
)
op(
    "max(Tensor self) -> Tensor",
    "The largest element; NaN if there is one.",
    bind="function method",
    tags="reduction",
    sharding="max",
    meta=rule("reduce_extremum", "self"),
    grad={"self": lambda grad, self, result: _share(grad, self, result, None, False)},
    samples=[S(3, 4)],
    dtypes="real bool",
    node="MaxBackward1",
)
op(
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The largest elements along `dim` and their positions.",
    bind="function method out",
    out_overload="dim_max max max_values",
    out_dtype="exact",
    batching="reduction",
    tags="core reduction",
    meta=rule("reduce_indexed", "self", -1, "dim", "keepdim"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim, result1: _place(grad, dim, result1, self_sizes, keepdim),
    },
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, True)],
    dtypes="real bool",
    node="MaxBackward0",
)
op(
    "mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "The mean of all elements.",
    bind="function method out",
    out_overload="dtype_out",
    tags="core reduction",
    linear="self",
    sharding="avg",
    meta=rule("reduce_mean", "self", "dtype"),
    grad={"self": lambda grad, self_sizes: grad.expand(self_sizes) / math.prod(self_sizes)},
    samples=[S(3, 4), S(T(3, 4), dtype="float64")],
    dtypes="floating complex",
)
op(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "The mean along the dimensions `dim`.",
    bind="function method out",
    out_overload="out",
    batching="reduction",
    tags="core reduction",
    linear="self",
    sharding="avg",
    meta=rule("reduce_mean", "self", "dtype", "dim", "keepdim"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim: _spread(grad, dim, self_sizes, keepdim) / _count(dim, self_sizes)
    },
    samples=[S(T(3, 4), 1), S(T(2, 3, 4), (0, 2), True)],
    dtypes="floating complex",
)
op(
    "median(Tensor self) -> Tensor",
    "The lower median of all elements; NaN if there is one.",
    bind="function method generated_out",
    meta=rule("median", "self"),
    grad={"self": lambda grad, self, result: _share(grad, self, result, None, False)},
    samples=[S(3, 4)],
    dtypes="real",
)
op(
    "median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The lower medians along `dim` and their positions.",
    bind="function method out",
    out_overload="dim_values",
    out_dtype="exact",
    batching="reduction",
    meta=rule("ranked", "self", "dim", "keepdim"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim, result1: _place(grad, dim, result1, self_sizes, keepdim),
    },
    samples=[S(T(3, 5), 1), S(T(3, 4), 0, True)],
    dtypes="real",
)
op(
    "min(Tensor self) -> Tensor",
    "The smallest element; NaN if there is one.",
    bind="function method",
    tags="reduction",
    sharding="min",
    meta=rule("reduce_extremum", "self"),
    grad={"self": lambda grad, self, result: _share(grad, self, result, None, False)},
    samples=[S(3, 4)],
    dtypes="real bool",
    node="MinBackward1",
)
op(
    "min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The smallest elements along `dim` and their positions.",
    bind="function method out",
    out_overload="dim_min min min_indices",
    out_dtype="exact",
    batching="reduction",
    tags="core reduction",
    meta=rule("reduce_indexed", "self", -1, "dim", "keepdim"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim, result1: _place(grad, dim, result1, self_sizes, keepdim),
    },
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, True)],
    dtypes="real bool",
    node="MinBackward0",
)
op(
    "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The most frequent values along `dim` and where each occurs last.",
    bind="function method out",
    out_overload="values",
    out_dtype="exact",
    batching="reduction",
    meta=rule("ranked", "self", "dim", "keepdim"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim, result1: _place(grad, dim, result1, self_sizes, keepdim),
    },
    samples=[S(T(3, 6, dtype="int64", low=0, high=3))],
    dtypes="real",
)
op(
    "nanmedian(Tensor self) -> Tensor",
    "The lower median of the elements that are not NaN.",
    bind="function method generated_out",
    meta=rule("median", "self"),
    grad={"self": lambda grad, self, result: _share(grad, self, result, None, False)},
    samples=[S(3, 4)],
    dtypes="real",
)
op(
    "nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The lower medians, NaN left out, along `dim` and their positions.",
    bind="function method out",
    out_overload="dim_values",
    out_dtype="exact",
    batching="reduction",
    meta=rule("ranked", "self", "dim", "keepdim"),
    grad={
        "self": lambda grad, self_sizes, dim, keepdim, result1: _place(grad, dim, result1, self_sizes, keepdim),
    },
    samples=[S(T(3, 5), 1)],
    dtypes="real",
)
op(
    "nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "The sum along the dimensions `dim`, NaN counted as zero.",
    bind="function method out",
    batching="reduction",
    tags="reduction",
    sharding="sum",
    meta=rule("reduce_sum", "self", "dtype", "dim", "keepdim"),
    grad={
        "self": lambda grad, self, dim, keepdim: (
            _spread(grad.to(self.dtype), dim, self.shape, keepdim) * self.isnan().logical_not()
        )
    },
    samples=[S(3, 4), S(T(3, 4), 1, True)],
    dtypes="real",
)
op(
    "prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "The product of all elements.",
    bind="function method out",
    out_dtype="exact",
    tags="core reduction",
    out_tags="generated",
    autocast="float32",
    sharding="product",
    meta=rule("reduce_sum", "self", "dtype"),
    grad={"self": lambda grad, self, result: _prod_grad(grad, self.to(grad.dtype), result)},
    samples=[S(3, 4)],
    dtypes=_ALL_DTYPES,
)
op(
    "prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "The product along `dim`.",
    bind="function method out",
    out_overload="int_out",
    batching="reduction",
    tags="core reduction",
    autocast="float32",
    sharding="product",
    meta=rule("reduce_sum", "self", "dtype", "dim", "keepdim"),
    grad={
        "self": lambda grad, self, dim, keepdim, result: _prod_dim_grad(grad, self.to(grad.dtype), dim, keepdim, result)
    },
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, True)],
    dtypes=_ALL_DTYPES,
)
op(
    "std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    "The standard deviation along the dimensions `dim`.",
    bind="function method out",
    batching="reduction",
    tags="reduction",
    meta=rule("reduce_var", "self", -1, "dim", "keepdim"),
    grad={"self": _std_grad},
    samples=[S(T(3, 4), 1), S(T(3, 4), correction=0, keepdim=True)],
    dtypes="floating",
)
op(
    "std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> (Tensor, Tensor)",
    "The standard deviation and the mean along the dimensions `dim`.",
    bind="function generated_out",
    batching="reduction",
    tags="reduction",
    meta=rule("reduce_var", "self", -1, "dim", "keepdim"),
    grad={
        "self": lambda grad0, grad1, self, dim, correction, keepdim, result0: (
            _std_grad(grad0, self, dim, correction, keepdim, result0)
            + _spread(grad1, dim, self.shape, keepdim) / _count(dim, self.shape)
        )
    },
    samples=[S(T(3, 4), 1)],
)
op(
    "sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    "The sum of all elements.",
    bind="function method out",
    out_dtype="exact",
    tags="reduction",
    out_tags="generated",
    linear="self",
    sharding="sum",
    meta=rule("reduce_sum", "self", "dtype"),
    grad={"self": lambda grad, self_sizes: grad.expand(self_sizes)},
    samples=[S(3, 4), S(T(3, 4), dtype="float64")],
    dtypes=_ALL_DTYPES,
)
op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "The sum along the dimensions `dim`.",
    bind="function method out",
    out_overload="IntList_out",
    batching="reduction",
    tags="core reduction",
    linear="self",
    sharding="sum",
    meta=rule("reduce_sum", "self", "dtype", "dim", "keepdim"),
    grad={"self": lambda grad, self_sizes, dim, keepdim: _spread(grad, dim, self_sizes, keepdim)},
    samples=[S(T(3, 4), 1), S(T(2, 3, 4), (0, 2), True)],
    dtypes=_ALL_DTYPES,
)
op(
    "trace(Tensor self) -> Tensor",
    "The sum of the diagonal of a matrix.",
    bind="function method out",
    out_dtype="exact",
    out_tags="generated",
    linear="self",
    autocast="float32",
    meta=rule("trace", "self"),
    grad={
        "self": lambda grad, self_sizes: (
            grad * aten.eye(self_sizes[0], self_sizes[1], dtype=grad.dtype, device=grad.device)
        )
    },
    samples=[S(3, 4)],
    dtypes=_ALL_DTYPES,
)
op(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    "The variance along the dimensions `dim`.",
    bind="function method out",
    batching="reduction",
    tags="core reduction",
    meta=rule("reduce_var", "self", -1, "dim", "keepdim"),
    grad={"self": _var_grad},
    samples=[S(T(3, 4), 1), S(T(3, 4), correction=0, keepdim=True)],
    dtypes="floating",
)
op(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> (Tensor, Tensor)",
    "The variance and the mean along the dimensions `dim`.",
    bind="function generated_out",
    batching="reduction",
    tags="reduction",
    meta=rule("reduce_var", "self", -1, "dim", "keepdim"),
    grad={
        "self": lambda grad0, grad1, self, dim, correction, keepdim: (
            _var_grad(grad0, self, dim, correction, keepdim)
            + _spread(grad1, dim, self.shape, keepdim) / _count(dim, self.shape)
        )
    },
    samples=[S(T(3, 4), 1)],
)
