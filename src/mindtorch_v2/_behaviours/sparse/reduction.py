"""Sums and softmax over dimensions of sparse tensors."""

from __future__ import annotations

from typing import Any

from ..._core.dimensions import wrap_dim
from ..._operators.table import aten, class_name
from .convert import _elements, like, to_coo
from .parts import coalesced, coo, is_sparse, numbered, parts, with_values
from .table import COO, CSR, kernel

_BOTH = (COO, CSR)


@kernel("sum", *_BOTH)
def _sum(self, *, dtype=None):
    return parts(self).values.sum(dtype=dtype)


@kernel("any", COO)
def _any(self):
    return parts(self).values.any()


@kernel("linalg_vector_norm", COO)
def _norm(self, ord=2, dim=None, keepdim=False, *, dtype=None):
    if dim:
        raise NotImplementedError("the norm of a sparse tensor over some dimensions is not implemented")
    return aten.linalg_vector_norm(parts(coalesced(self)).values, ord, dtype=dtype)


def _split(dims: Any, total: int, count: int) -> tuple[list[int], list[int]]:
    """The sparse and the dense dimensions among some."""
    dims = [wrap_dim(d, total) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError(
            f"dim {next(d for d in dims if dims.count(d) > 1)} appears multiple times in the list of dims"
        )
    return sorted(d for d in dims if d < count), sorted(d for d in dims if d >= count)


@kernel("_sparse_sum.dim", COO)
def _sum_dims(self, dim):
    p, count = parts(self), parts(self).indices.shape[0]
    sparse, dense = _split(dim, self.dim(), count)
    values = p.values.sum([d - count + 1 for d in dense], dtype=self.dtype) if dense else p.values
    if len(sparse) == count:
        return values.sum(0, dtype=self.dtype)
    kept = [d for d in range(count) if d not in sparse]
    size = [n for d, n in enumerate(self.shape) if d not in sparse and d not in dense]
    return coalesced(coo(p.indices[kept], values, size, p.coalesced and not sparse))


@kernel("_sparse_sum_backward", COO)
def _sum_dims_grad(grad, self, dim):
    p, count = parts(self), parts(self).indices.shape[0]
    sparse, dense = _split(dim, self.dim(), count)
    kept = [d for d in range(count) if d not in sparse]
    if kept:
        values = _elements(grad, p.indices[kept])
    else:
        values = grad.unsqueeze(0)
    for d in dense:
        values = values.unsqueeze(d - count + 1)
    return with_values(self, values.expand(p.values.shape).contiguous())


@kernel("sum.dim_IntList", COO)
def _sum_some(self, dim, keepdim=False, *, dtype=None):
    x = self if dtype is None else self.to(dtype)
    dims = list(range(x.dim())) if not dim else [wrap_dim(d, x.dim()) for d in dim]
    made = _sum_dims(x, dims)
    for d in sorted(dims) if keepdim else ():
        made = made.unsqueeze(d)
    return made


@kernel("sum.dim_IntList", CSR)
def _sum_compressed(self, dim, keepdim=False, *, dtype=None):
    if not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    made = _sum_some(to_coo(self), dim, False, dtype=dtype)
    if not is_sparse(made):
        raise NotImplementedError(
            "the sum of a compressed tensor over all dimensions with keepdim=True is not implemented"
        )
    return like(made.unsqueeze(wrap_dim(dim[0], 2)), self)


# ---- softmax: over the values that are stored ----


def _groups(x: Any, dim: int) -> tuple[Any, int]:
    """Of a coalesced tensor: the number of the slice along ``dim`` that each value is in, and how many there are."""
    p = parts(x)
    others = [d for d in range(p.indices.shape[0]) if d != dim]
    if not others:
        return p.indices.new_zeros(p.indices.shape[1]), 1
    places = numbered(p.indices[others], [x.shape[d] for d in others])
    found, group, _ = aten._unique2(places, return_inverse=True)
    return group, found.shape[0]


def _sum_groups(values: Any, group: Any, count: int) -> Any:
    """The sum of each value's group, for each value."""
    sums = values.new_zeros((count, *values.shape[1:])).index_add_(0, group, values)
    return sums.index_select(0, group)


def _check(self: Any, half_to_float: bool) -> None:
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    if not self.dtype.is_floating_point:
        raise NotImplementedError(f"\"softmax\" not implemented for '{class_name(self.dtype)}'")


def _softmax(self: Any, dim: int, half_to_float: bool, log: bool) -> Any:
    _check(self, half_to_float)
    x, dim = coalesced(self), wrap_dim(dim, self.dim())
    values, count = parts(x).values, parts(x).indices.shape[0]
    if dim >= count:
        return with_values(x, (aten.log_softmax if log else aten.softmax)(values, dim - count + 1))
    if values.shape[0] == 0:
        return with_values(x, values)
    group, groups = _groups(x, dim)
    top = values.new_full((groups, *values.shape[1:]), float("-inf"))
    shifted = values - aten.index_reduce(top, 0, group, values, "amax").index_select(0, group)
    sums = _sum_groups(shifted.exp(), group, groups)
    return with_values(x, shifted - sums.log() if log else shifted.exp() / sums)


def _softmax_grad(grad: Any, output: Any, dim: int, log: bool) -> Any:
    dim = wrap_dim(dim, output.dim())
    out, slopes = parts(output).values, _elements(grad, parts(output).indices)
    count = parts(output).indices.shape[0]
    weighted = slopes if log else slopes * out
    if dim >= count:
        sums = weighted.sum(dim - count + 1, keepdim=True)
    else:
        sums = _sum_groups(weighted, *_groups(output, dim))
    return with_values(output, slopes - out.exp() * sums if log else out * (slopes - sums))


for _name, _log in (("_sparse_softmax", False), ("_sparse_log_softmax", True)):
    kernel(_name, COO)(lambda self, dim, half_to_float, _log=_log: _softmax(self, dim, half_to_float, _log))
    kernel(f"{_name}_backward_data", COO)(
        lambda grad_output, output, dim, self, _log=_log: _softmax_grad(grad_output, output, dim, _log)
    )
