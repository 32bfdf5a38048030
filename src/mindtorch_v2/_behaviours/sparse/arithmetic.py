"""Sums, products and quotients of sparse tensors, with numbers and with tensors."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.table import aten, class_name
from .convert import coordinates, elements, like, to_coo
from .creation import on_meta
from .parts import BOOL, bare, coalesced, coo, find, is_sparse, numbered, parts, with_values
from .table import COO, CSR, become, check_layouts, fill, inplace, kernel, out

_BOTH = (COO, CSR)


@kernel("neg", *_BOTH)
def _neg(self):
    return with_values(self, -parts(self).values)


inplace("neg", *_BOTH)(lambda self: become(self, _neg(self)))


@out("neg", *_BOTH)
def _neg_into(self, *, out):
    check_layouts(self, out)
    return fill(out, _neg(self))


@kernel("pow.Tensor_Scalar", COO)
def _pow(self, exponent):
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    self = coalesced(self)
    return with_values(self, aten.pow(parts(self).values, exponent))


# ---- sums ----


def _mismatch(self: Any, other: Any) -> RuntimeError:
    return RuntimeError(
        f"add: expected sizes of 'self' and 'other' to match, but {list(self.shape)} != {list(other.shape)}"
    )


def _promoted_on_meta(self: Any, other: Any) -> Any:
    """A result in the form of the first, in the dtype of both."""
    return on_meta(self.to(_C.result_type(parts(self).values, parts(other).values)))


def _add_sparse(self: Any, other: Any, alpha: Any) -> Any:
    if self.shape != other.shape:
        raise _mismatch(self, other)
    if self.is_meta and self.layout == other.layout:
        return _promoted_on_meta(self, other)
    if self.layout != other.layout:
        return _add_sparse(*(to_coo(x) if x.layout != _C.sparse_coo else x for x in (self, other)), alpha)  # type: ignore[call-arg]  # (two operands)
    if self.layout != _C.sparse_coo:
        return like(_add_sparse(to_coo(self), to_coo(other), alpha), self)
    p, q = parts(self), parts(other)
    if p.indices.shape[0] != q.indices.shape[0]:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same number of sparse dimensions, but {p.indices.shape[0]} != {q.indices.shape[0]}"
        )
    if p.indices.shape == q.indices.shape and aten.equal(p.indices, q.indices):
        return coo(p.indices, aten.add(p.values, q.values, alpha=alpha), self.shape, p.coalesced and q.coalesced)
    dtype = _C.result_type(p.values, q.values)
    scaled = q.values if alpha == 1 else q.values * alpha
    values = aten.cat([p.values.to(dtype), scaled.to(dtype)])
    joined = coo(aten.cat([p.indices, q.indices], 1), values, self.shape)
    return coalesced(joined) if p.coalesced and q.coalesced else joined


def _add_to_dense(out: Any, other: Any, alpha: Any) -> Any:
    """Add a sparse tensor to a dense one of the same sizes, in place."""
    if other.layout == _C.sparse_coo:
        other = coalesced(other) if other.dtype == BOOL else other
        indices, values = parts(other).indices, parts(other).values
    elif other.is_meta:
        return out
    else:
        indices, values = aten.stack(coordinates(other)), elements(other)
    values = (values if alpha == 1 else values * alpha).to(out.dtype)
    if indices.shape[0] == 0:
        return out.add_(values.sum(0))
    return aten.index_put_(out, list(indices.unbind(0)), values, True)


def _check_dense_sum(self: Any, other: Any) -> None:
    if self.shape != other.shape:
        raise RuntimeError(
            f"add: expected 'self' and 'other' to have same size, but self has size {list(self.shape)} while other has size "
            f"{list(other.shape)} (FYI: dense-sparse addition does not currently support broadcasting)"
        )


_DENSE_LAST = "add(sparse, dense) is not supported. Use add(dense, sparse) instead."


@kernel("add.Tensor", *_BOTH)
def _add(self, other, *, alpha=1):
    if is_sparse(self) and is_sparse(other):
        return _add_sparse(self, other, alpha)
    if is_sparse(self):
        if self.layout == _C.sparse_coo:
            raise RuntimeError(_DENSE_LAST)
        _check_dense_sum(other, self)
        scaled = (other if alpha == 1 else other * alpha).to(_C.result_type(parts(self).values, other))
        return _add_to_dense(bare(scaled).clone(), self, 1)
    _check_dense_sum(self, other)
    dtype = _C.result_type(self, parts(other).values)
    out = aten._to_copy(bare(self), dtype=dtype)
    return _add_to_dense(out, other, alpha)


@inplace("add.Tensor", *_BOTH)
def _add_inplace(self, other, *, alpha=1):
    if not is_sparse(self):
        _check_dense_sum(self, other)
        return _into_dense(self, other, alpha)
    return become(self, _add(self, other, alpha=alpha))


def _into_dense(self: Any, other: Any, alpha: Any) -> Any:
    dtype = _C.result_type(self, parts(other).values)
    if not _C.can_cast(dtype, self.dtype):
        raise RuntimeError(
            f"Can't convert result type {class_name(dtype)} to output {class_name(self.dtype)} in add operation"
        )
    _add_to_dense(self, other, alpha)
    return self


@kernel("sub.Tensor", *_BOTH)
def _sub(self, other, *, alpha=1):
    return _add(self, other, alpha=-alpha)


@inplace("sub.Tensor", *_BOTH)
def _sub_inplace(self, other, *, alpha=1):
    return _add_inplace(self, other, alpha=-alpha)


@kernel("add.Scalar", *_BOTH)
def _add_number(self, other, alpha=1):
    raise RuntimeError(_DENSE_LAST)


kernel("sub.Scalar", *_BOTH)(_add_number)
inplace("add.Scalar", *_BOTH)(_add_number)
inplace("sub.Scalar", *_BOTH)(_add_number)


@kernel("rsub.Scalar", *_BOTH)
def _number_minus(self, other, alpha=1):
    return _add(aten.scalar_tensor(other, dtype=self.dtype, device=self.device), self, alpha=-alpha)


# ---- products ----


def _scaled(self: Any, other: Any) -> Any:
    return with_values(self, aten.mul(parts(self).values, other))


def _intersection(self: Any, other: Any) -> Any:
    """The product of two coordinate tensors: values that both have."""
    p, q = parts(self), parts(coalesced(other))
    count = p.indices.shape[0]
    if self.dim() != other.dim() or count != q.indices.shape[0] or self.shape[:count] != other.shape[:count]:
        raise RuntimeError(
            "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal dimensionality, number of sparse dimensions, "
            "and shape of sparse dimensions"
        )
    at, found = find(numbered(q.indices, other.shape[:count]), numbered(p.indices, self.shape[:count]))
    kept = aten.nonzero(found).reshape(-1)
    values = p.values.index_select(0, kept) * q.values.index_select(0, at.index_select(0, kept))
    size = (*self.shape[:count], *values.shape[1:])
    return coo(p.indices.index_select(1, kept), values, size, p.coalesced)


def _check_product(dense: Any, sparse: Any) -> None:
    """That the sizes of a dense tensor broadcast to those of a sparse one."""
    for d in range(1, min(len(dense), len(sparse)) + 1):
        if dense[-d] != sparse[-d] and 1 not in (dense[-d], sparse[-d]):
            raise RuntimeError(
                f"The size of tensor a ({dense[-d]}) must match the size of tensor b ({sparse[-d]}) at non-singleton dimension {len(dense) - d}"
            )
    if len(dense) > len(sparse) or any(dense[-d] != 1 and sparse[-d] == 1 for d in range(1, len(dense) + 1)):
        raise NotImplementedError(
            f"a sparse tensor of sizes {list(sparse)} is not broadcast in a product, with sizes {list(dense)}"
        )


def _by_dense(self: Any, other: Any) -> Any:
    """Each value times the element of a dense tensor at its coordinates."""
    _check_product(other.shape, self.shape)
    p = parts(self)
    indices = p.indices if self.layout == _C.sparse_coo else aten.stack(coordinates(self))
    wide = bare(other).expand(self.shape)
    if not indices.shape[0]:
        return with_values(self, p.values * wide)
    factors = aten.index(wide, list(indices.unbind(0)))
    return with_values(self, p.values * (factors if self.layout == _C.sparse_coo else factors.reshape(p.values.shape)))


@kernel("mul.Tensor", *_BOTH)
def _mul(self, other):
    if not is_sparse(self):
        self, other = other, self
    if not isinstance(other, _C.TensorBase):
        return _scaled(self, other)
    if not is_sparse(other):
        return _scaled(self, bare(other)) if other.dim() == 0 else _by_dense(self, other)
    if self.is_meta and self.layout == other.layout and self.shape == other.shape:
        return _promoted_on_meta(self, other)
    if self.layout == other.layout == _C.sparse_coo:
        return _intersection(self, other)
    if self.shape != other.shape:
        raise _mismatch(self, other)
    made = _intersection(*(x if x.layout == _C.sparse_coo else to_coo(x) for x in (self, other)))
    return like(made, self)


@kernel("mul.Scalar", *_BOTH)
def _mul_number(self, other):
    return _scaled(self, other)


@inplace("mul.Tensor", *_BOTH)
def _mul_inplace(self, other):
    if is_sparse(self):
        return become(self, _mul(self, other))
    return self.copy_(_mul(self, other).to_dense())


inplace("mul.Scalar", *_BOTH)(lambda self, other: become(self, _scaled(self, other)))


# ---- quotients ----


def _divided(self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    if not is_sparse(self) or is_sparse(other) or getattr(other, "shape", ()) != ():
        sizes = list(other.shape) if hasattr(other, "shape") else []
        raise RuntimeError(
            f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {sizes} for divisor)"
        )
    if rounding_mode is not None:  # what is rounded is the sum
        self = coalesced(self)
        return with_values(self, aten.div(parts(self).values, other, rounding_mode=rounding_mode))
    return with_values(self, aten.div(parts(self).values, other))


for _name in ("div.Tensor", "div.Scalar"):
    kernel(_name, COO)(_divided)
    inplace(_name, COO)(lambda self, other: become(self, _divided(self, other)))
for _name in ("div.Tensor_mode", "div.Scalar_mode"):
    kernel(_name, COO)(lambda self, other, *, rounding_mode=None: _divided(self, other, rounding_mode))
    inplace(_name, COO)(lambda self, other, *, rounding_mode=None: become(self, _divided(self, other, rounding_mode)))
for _name in ("floor_divide", "floor_divide.Scalar"):
    kernel(_name, COO)(lambda self, other: _divided(self, other, "floor"))
