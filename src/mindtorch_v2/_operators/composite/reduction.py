"""Reductions made of other reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._core.dimensions import wrap_dim
from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Number


def _correction(unbiased: bool) -> int:
    return 1 if unbiased else 0


def _spread_forms(name: str, doc: str, returns: str, bind: str) -> None:
    """The `unbiased` overloads of std, var, std_mean and var_mean."""
    run = getattr(aten, name)

    @composite(
        f"{name}(Tensor self, bool unbiased=True) -> {returns}", doc, bind=bind, tags="reduction", samples=[S(3, 4)]
    )
    def of_all(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor] | Tensor:
        return run(self, None, correction=_correction(unbiased))

    @composite(
        f"{name}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> {returns}",
        doc,
        bind=bind if returns != "Tensor" else f"{bind} out",
        out_overload="out" if returns == "Tensor" else "",
        tags="core reduction" if name == "var" else "reduction",
        samples=[S(T(3, 4), 1), S(T(3, 4), 0, False, True)],
    )
    def along(
        self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, Tensor] | Tensor:
        return run(self, dim, correction=_correction(unbiased), keepdim=keepdim)


_spread_forms("std", "The standard deviation.", "Tensor", "function method")
_spread_forms("std_mean", "The standard deviation and the mean.", "(Tensor, Tensor)", "function")
_spread_forms("var", "The variance.", "Tensor", "function method")
_spread_forms("var_mean", "The variance and the mean.", "(Tensor, Tensor)", "function")


@composite(
    "corrcoef(Tensor self) -> Tensor",
    "Correlation coefficients of the rows.",
    bind="function method",
    samples=[S(3, 5)],
)
def corrcoef(self: Tensor) -> Tensor:
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    c = aten.cov(self)
    if c.dim() == 0:
        return c / c
    deviation = c.diagonal().sqrt()
    c = c / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    return c.clamp(-1, 1) if not c.is_complex() else c


def _check_weights(name, weights, count) -> None:
    """Frequencies are whole numbers, importances fractions; one for each observation."""
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    fractions = weights.is_floating_point() or weights.is_complex()
    if fractions != (name == "aweights"):
        wanted = "floating point" if name == "aweights" else "integral"
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {class_name(weights.dtype)} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if weights.numel() and not weights.is_meta and bool(weights.min() < 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite(
    "cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor",
    "The covariance matrix of the rows, observations in columns.",
    bind="function method",
    samples=[S(3, 5)],
)
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if class_name(self.dtype) == "Bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    x = self if self.is_floating_point() or self.is_complex() else self.to(aten.zeros([]).dtype)
    x = x.reshape([1, -1]) if x.dim() < 2 else x
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            _check_weights(name, given, x.size(1))
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    total: Any
    freedom: Any
    if weights is None:
        total = x.size(1)
        mean = x.mean(1, keepdim=True)
    else:
        total = weights.sum()
        aten._assert_async(total != 0, "cov(): the weights sum to zero, which nothing can be divided by")
        mean = (x * weights).sum(1, keepdim=True) / total
    if weights is not None and aweights is not None and correction != 0:
        freedom = total - correction * (weights * aweights).sum() / total
    else:
        freedom = total - correction
    centred = x - mean
    weighted = centred if weights is None else centred * weights
    c = aten.matmul(weighted, centred.t().conj())
    freedom = max(freedom, 0) if isinstance(freedom, int) else freedom.clamp_min(0)
    c = c / freedom
    return c.squeeze() if self.dim() < 2 or self.size(0) == 1 else c


@composite(
    "cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    "Running integrals by the trapezoidal rule, equal steps.",
    bind="function",
    samples=[S(3, 4)],
)
def cumulative_trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    left, right = aten.slice(y, dim, 0, -1), aten.slice(y, dim, 1)
    return (dx / 2 * (left + right)).cumsum(dim)


@composite(
    "cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    "Running integrals by the trapezoidal rule at given places.",
    bind="function",
    samples=[S(T(3, 4), T(4))],
)
def cumulative_trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    areas, dim = _areas(y, x, dim)
    return areas.cumsum(dim) / 2.0


def _areas(y, x, dim: int) -> tuple:
    """Twice the areas between the places, and the dimension that they lie along."""
    dim %= y.dim()
    if x.dim() == 1:
        x = x.view([-1 if d == dim else 1 for d in range(y.dim())])
    before, after = aten.slice(x, dim, 0, -1), aten.slice(x, dim, 1)
    steps = after - before
    left, right = aten.slice(y, dim, 0, -1), aten.slice(y, dim, 1)
    return (left + right) * steps, dim


@composite(
    "diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    "Differences of neighbours along `dim`, n times.",
    bind="function method",
    samples=[S(3, 5), S(T(3, 5), 2, 0)],
    dtypes="real bool",
)
def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    if self.dim() < 1:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    for joined in (prepend, append):
        _check_joined_to_diff(self, joined, dim)
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:
        return self.clone()
    parts = [t for t in (prepend, self, append) if t is not None]
    x = aten.cat(parts, dim) if len(parts) > 1 else self
    for _ in range(min(n, x.size(dim))):
        m = x.size(dim)
        later, earlier = x.narrow(dim, 1, max(m - 1, 0)), x.narrow(dim, 0, max(m - 1, 0))
        x = later.logical_xor(earlier) if _is_bool(x) else later - earlier
    return x


def _check_joined_to_diff(x, joined, dim) -> None:
    """RuntimeError unless what is put before or behind has the sizes of `x` in all dimensions but `dim`."""
    if joined is None:
        return
    if joined.dim() != x.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for i in range(x.dim()):
        if i != dim % x.dim() and joined.size(i) != x.size(i):
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({i}) = {x.size(i)}, but got tensor.size({i}) = {joined.size(i)}"
            )


def _is_bool(x) -> bool:
    return str(x.dtype).endswith("bool")


@composite(
    "dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
    "The p-norm of self - other.",
    bind="function method generated_out",
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), 1)],
    node="DistBackward0",
)
def dist(self: Tensor, other: Tensor, p: Number = 2) -> Tensor:
    return aten.linalg_vector_norm(self - other, p)


@composite(
    "max.other(Tensor self, Tensor other) -> Tensor",
    "The larger of two elements.",
    bind="function method",
    tags="pointwise",
    samples=[S(T(3, 4), T(3, 4))],
    dtypes="real bool",
)
def max_other(self: Tensor, other: Tensor) -> Tensor:
    return aten.maximum(self, other)


@composite(
    "min.other(Tensor self, Tensor other) -> Tensor",
    "The smaller of two elements.",
    bind="function method",
    tags="pointwise",
    samples=[S(T(3, 4), T(3, 4))],
    dtypes="real bool",
)
def min_other(self: Tensor, other: Tensor) -> Tensor:
    return aten.minimum(self, other)


@composite(
    "nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "The mean of what is not NaN.",
    bind="function method out",
    samples=[S(3, 4), S(T(3, 4), 1)],
)
def nanmean(
    self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            "nanmean(): expected input to have floating point or complex dtype but got " + _class_name(self)
        )
    counts = self.isnan().logical_not().sum(dim, keepdim)
    return aten.nansum(self, dim, keepdim, dtype=dtype) / counts


def _class_name(x) -> str:
    return {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}.get(
        str(x.dtype).rpartition(".")[2], str(x.dtype)
    )


@composite(
    "norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
    "The p-norm of all elements.",
    bind="generated_out",
    tags="reduction",
    samples=[S(3, 4)],
)
def norm_of_all(self: Tensor, p: Number = 2) -> Tensor:
    return aten.linalg_vector_norm(_floating(self), p)


@composite(
    "norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
    "The p-norm along the dimensions `dim`.",
    bind="out",
    out_dtype="exact",
    out_overload="out",
    tags="reduction",
    samples=[S(T(3, 4), 2, [1]), S(T(3, 4), None, [0], True)],
)
def norm(self: Tensor, p: Number | None, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    return aten.linalg_vector_norm(_floating(self), 2 if p is None else p, dim, keepdim)


@composite(
    "norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
    "The p-norm along the dimensions `dim`, computed in `dtype`.",
    bind="out",
    out_dtype="exact",
    out_overload="dtype_out",
    tags="reduction",
)
def norm_dtype(self: Tensor, p: Number | None, dim: Sequence[int], keepdim: bool, *, dtype: dtype) -> Tensor:
    return aten.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


@composite(
    "norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
    "The p-norm of all elements, computed in `dtype`.",
    bind="generated_out",
    tags="reduction",
)
def norm_of_all_dtype(self: Tensor, p: Number | None, *, dtype: dtype) -> Tensor:
    return aten.linalg_vector_norm(self, 2 if p is None else p, dtype=dtype)


def _floating(x):
    return x if x.is_floating_point() or x.is_complex() else x.to(aten.zeros([]).dtype)


def _quantile(self, q, dim, keepdim, interpolation, ignore_nan, name):
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if self.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if str(self.dtype) not in ("torch.float32", "torch.float64"):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if q.dtype != self.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    aten._assert_async(((q >= 0) & (q <= 1)).all(), f"{name}() q values must be in the range [0, 1]")
    flat = dim is None
    x = self.reshape([-1]) if flat else self
    axis = 0 if flat else wrap_dim(dim, self.dim())
    ordered = x.unsqueeze(-1).transpose(axis, -1).squeeze(axis) if x.dim() else x.reshape([1])
    ordered = ordered.sort(-1)[0]
    n = ordered.size(-1)
    missing = ordered.isnan()
    places = q.reshape([-1])
    if ignore_nan:
        last = missing.logical_not().sum(-1, keepdim=True) - 1
        rank = places * last
    else:
        rank = (places * (n - 1)).expand([*ordered.shape[:-1], places.size(0)])
        rank = rank.masked_fill(missing.any(-1, keepdim=True), n - 1)
    rank = rank.clamp_min(0)
    if interpolation == "lower":
        rank = rank.floor()
    elif interpolation == "higher":
        rank = rank.ceil()
    elif interpolation == "nearest":
        rank = rank.round()
    below = rank.to(_int64(q)).clamp(0, n - 1)
    result = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weight = aten.full_like(rank, 0.5) if interpolation == "midpoint" else rank - below
        weight = weight.masked_fill(rank == below, 0)
        above = rank.ceil().to(below.dtype).clamp(0, n - 1)
        result = aten.lerp(result, ordered.gather(-1, above), weight)
    # The quantiles are last: they come first, or go when q is a scalar.
    result = result.movedim(-1, 0)
    if keepdim:
        shape = [1] * self.dim() if flat else [1 if d == axis else n for d, n in enumerate(self.shape)]
        result = result.reshape([places.size(0), *shape])
    elif flat:
        result = result.reshape([places.size(0)])
    return result.squeeze(0) if q.dim() == 0 else result


def _int64(like):
    return aten.arange(0, device=like.device).dtype


def _quantile_forms(name: str, doc: str, ignore_nan: bool) -> None:
    @composite(
        f'{name}(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor',
        doc,
        bind="function method out",
        out_dtype="quantile() out tensor must be same dtype as the input tensor",
        autocast="float32",
    )
    def of_tensor(
        self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor:
        return _quantile(self, q, dim, keepdim, interpolation, ignore_nan, name)

    @composite(
        f'{name}.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear")'
        " -> Tensor",
        doc,
        bind="function method out",
        out_dtype="quantile() out tensor must be same dtype as the input tensor",
        autocast="float32",
        samples=[S(T(3, 4), 0.4), S(T(3, 4), 0.5, 1)],
        dtypes="float",
    )
    def of_number(
        self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor:
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q:g}")
        q = aten.full([], q, dtype=self.dtype, device=self.device)
        return _quantile(self, q, dim, keepdim, interpolation, ignore_nan, name)


_quantile_forms("nanquantile", "Quantiles of what is not NaN.", True)
_quantile_forms("quantile", "Quantiles along `dim`; NaN where there is one.", False)


@composite(
    "trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor",
    "Integral by the trapezoidal rule, equal steps.",
    bind="function",
    alias="trapz",
    samples=[S(3, 4)],
)
def trapezoid_dx(y: Tensor, *, dx: Number = 1, dim: int = -1) -> Tensor:
    n = y.size(dim)
    if n == 0:
        return _none(y, dim)
    return (y.sum(dim) - (y.select(dim, 0) + y.select(dim, -1)) * 0.5) * dx


@composite(
    "trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor",
    "Integral by the trapezoidal rule at given places.",
    bind="function",
    alias="trapz",
    samples=[S(T(3, 4), T(4))],
)
def trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    if y.size(dim) == 0:
        return _none(y, dim)
    areas, dim = _areas(y, x, dim)
    return areas.sum(dim) / 2.0


def _none(y: Tensor, dim: int) -> Tensor:
    """The integral over no step: zeros of the same dtype, without a gradient."""
    return y.new_zeros([size for place, size in enumerate(y.shape) if place != dim % y.dim()])


@composite(
    "hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor",
    "Exclusive or of the elements' bits, floats as float64 and integers as int64, along dimensions: all for none.",
    bind="function method out",
    out_dtype="Expected result to be of dtype uint64, but got {out}",
    grad=None,
)
def hash_tensor(self: Tensor, dim: Sequence[int] = (), keepdim: bool = False, mode: int = 0) -> Tensor:
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if self.is_complex():
        raise NotImplementedError(f"\"xor_sum_cpu\" not implemented for '{class_name(self.dtype)}'")
    if self.numel() == 0 and not dim:
        raise RuntimeError(
            "hash_tensor: Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    wide = "float64" if self.is_floating_point() else "int64"
    bits = self.to(DTYPES[wide]).resolve_neg().view(DTYPES["int64"])
    dims = sorted({d % self.dim() for d in dim}) if dim and self.dim() else list(range(self.dim()))
    for d in dim:
        if self.dim() and self.size(d) == 0:
            raise IndexError(f"hash_tensor: Expected reduction dim {d} to have non-zero size.")
    kept = [d for d in range(self.dim()) if d not in dims]
    sizes = [self.size(d) for d in kept]
    bits = bits.permute([*kept, *dims]).reshape([*sizes, math.prod(self.size(d) for d in dims)])
    while bits.size(-1) > 1:
        half = bits.size(-1) // 2
        folded = bits[..., :half] ^ bits[..., half : 2 * half]
        bits = aten.cat([folded, bits[..., 2 * half :]], -1)
    bits = bits.squeeze(-1)
    if keepdim:
        bits = bits.reshape([1 if d in dims else self.size(d) for d in range(self.dim())])
    return bits.contiguous().view(DTYPES["uint64"])
