"""Running sums, products and extrema along a dimension."""

from __future__ import annotations

from ..._core.dtype import finfo
from ..table import S, T, aten, conj, op, rule


def _cumsum_grad(grad, dim):
    return grad.flip([dim]).cumsum(dim).flip([dim]) if grad.dim() else grad


def _cumprod_grad(grad, self, dim, result):
    """Reversed running sums, divided by the element; with zeros, each element's share is summed term by term."""
    if self.dim() == 0 or self.size(dim) == 1:
        return grad
    if not (self == 0).any().item():
        return _cumsum_grad(grad * conj(result), dim) / conj(self)
    n = self.size(dim)
    ones = aten.ones_like(self.narrow(dim, 0, 1))
    parts = []
    for k in range(n):
        # Products up to i with element k left out, for i = k, k + 1, ...
        before = self.narrow(dim, 0, k).prod(dim, keepdim=True)
        after = aten.cat([ones, self.narrow(dim, k + 1, n - k - 1)], dim).cumprod(dim)
        parts.append((grad.narrow(dim, k, n - k) * conj(before * after)).sum(dim, keepdim=True))
    return aten.cat(parts, dim)


def _extremum_grad(grad, dim, indices, sizes):
    return grad.new_zeros(sizes).scatter_add(dim, indices, grad) if len(sizes) else grad


def _reversed_logcumsumexp(x, dim):
    return x.flip([dim]).logcumsumexp(dim).flip([dim])


def _logcumsumexp_grad(grad, self, dim, result):
    """In log space, positive and negative gradients apart: plain exponentials would overflow."""
    if self.dim() == 0 or self.numel() == 0:
        return grad
    if grad.is_complex():
        return (_reversed_logcumsumexp(grad.conj().log() - result, dim) + self).exp().conj()
    size, lowest = grad.abs().log(), finfo(grad.dtype).min  # not -inf: its own derivatives would be NaN
    up = _reversed_logcumsumexp(size.masked_fill(grad <= 0, lowest) - result, dim) + self
    down = _reversed_logcumsumexp(size.masked_fill(grad >= 0, lowest) - result, dim) + self
    return up.exp() - down.exp()


op(
    "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    "The largest element so far along `dim`, and its position.",
    bind="function method out",
    out_dtype="expected scalar_type {result} but found {out}",
    batching="dims",
    meta=rule("scan_indexed", "self", "dim"),
    grad={"self": lambda grad, self_sizes, dim, result1: _extremum_grad(grad, dim, result1, self_sizes)},
    samples=[S(T(3, 4), 1), S(T(3, 4), 0)],
    dtypes="real bool",
)
op(
    "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
    "The smallest element so far along `dim`, and its position.",
    bind="function method out",
    out_dtype="expected scalar_type {result} but found {out}",
    batching="dims",
    meta=rule("scan_indexed", "self", "dim"),
    grad={"self": lambda grad, self_sizes, dim, result1: _extremum_grad(grad, dim, result1, self_sizes)},
    samples=[S(T(3, 4), 1), S(T(3, 4), 0)],
    dtypes="real bool",
)
op(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    "Running products along `dim`.",
    bind="function method inplace out",
    batching="dims",
    meta=rule("scan", "self", "dim", "dtype"),
    grad={"self": lambda grad, self, dim, result: _cumprod_grad(grad, self.to(grad.dtype), dim, result)},
    samples=[S(T(3, 4), 1), S(T(3, 4), 0)],
    dtypes="real complex",
)
op(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    "Running sums along `dim`.",
    bind="function method inplace out",
    batching="dims",
    tags="core",
    linear="self",
    meta=rule("scan", "self", "dim", "dtype"),
    grad={"self": lambda grad, dim: _cumsum_grad(grad, dim)},
    samples=[S(T(3, 4), 1), S(T(3, 4), 0), S(T(3, 4), 0, dtype="float64")],
    dtypes="all",
)
op(
    "logcumsumexp(Tensor self, int dim) -> Tensor",
    "Logarithms of the running sums of exponentials along `dim`.",
    bind="function method out",
    out_dtype="expected scalar_type {result} but found {out}",
    batching="dims",
    meta=rule("scan_like", "self", "dim"),
    grad={"self": _logcumsumexp_grad},
    samples=[S(T(3, 4), 1)],
)
