"""Parts of sparse tensors and other arrangements of their dimensions. No sparse tensor is a view of another."""

from __future__ import annotations

from ..._core.dimensions import wrap_dim
from ..._operators.table import aten
from .convert import to_coo
from .parts import BLOCKED, TRANSPOSED, Compressed, batch_dim, compressed, coo, dense_dim, parts, with_values
from .table import COO, CSR, become, kernel

# ---- the order of the dimensions ----


@kernel("transpose.int", COO)
def _transpose(self, dim0, dim1):
    dim0, dim1 = wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim())
    p, count = parts(self), parts(self).indices.shape[0]
    if dim0 == dim1:
        return coo(p.indices, p.values, self.shape, p.coalesced)
    if dim0 >= count or dim1 >= count:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {count}, d0: {dim0}, d1: {dim1}"
        )
    order = list(range(self.dim()))
    order[dim0], order[dim1] = dim1, dim0
    size = [self.shape[d] for d in order]
    return coo(p.indices[order[:count]], p.values, size)


@kernel("transpose.int", CSR)
def _transpose_compressed(self, dim0, dim1):
    dim0, dim1 = wrap_dim(dim0, self.dim()), wrap_dim(dim1, self.dim())
    if dim0 == dim1:
        return self.clone()
    p, batch = parts(self), batch_dim(self)
    if dense_dim(self):
        raise RuntimeError("transpose(): hybrid sparse compressed tensors with dense dimensions are not supported")

    def kind(dim: int) -> str:
        return "Batch" if dim < batch else "Sparse"

    if kind(dim0) != kind(dim1):
        raise RuntimeError(
            f"transpose(): can only transpose dimensions of the same type (Batch, Sparse, Dense), got {dim0}({kind(dim0)}) and "
            f"{dim1}({kind(dim1)})"
        )
    size = list(self.shape)
    size[dim0], size[dim1] = size[dim1], size[dim0]
    starts, plain, values, layout = p.compressed, p.plain, p.values, self.layout
    if dim0 < batch:
        starts, plain, values = (each.transpose(dim0, dim1).contiguous() for each in (starts, plain, values))
    else:
        layout = TRANSPOSED[layout]
        values = values.transpose(-2, -1).contiguous() if layout in BLOCKED else values
    return compressed(starts, plain, values, size, layout)


@kernel("t", COO, CSR)
def _t(self):
    p = parts(self)
    if isinstance(p, Compressed):
        return _transpose_compressed(self, 0, 1)
    if p.indices.shape[0] > 2 or p.values.dim() > 1:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {p.indices.shape[0]} sparse and "
            f"{p.values.dim() - 1} dense dimensions"
        )
    return _transpose(self, 0, 0 if self.dim() < 2 else 1)


@kernel("t_", COO)
def _t_inplace(self):
    return become(self, _t(self))


@kernel("transpose_", COO)
def _transpose_inplace(self, dim0, dim1):
    return become(self, _transpose(self, dim0, dim1))


@kernel("permute", COO)
def _permute(self, dims):
    if len(dims) != self.dim():
        raise RuntimeError(
            f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i.e. input.dim() = {self.dim()} is not equal to len(dims) = {len(dims)}"
        )
    dims = [wrap_dim(d, self.dim()) for d in dims]
    if len(set(dims)) != len(dims):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    p, count = parts(self), parts(self).indices.shape[0]
    if sorted(dims[:count]) != list(range(count)):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not allowed.Only transpositions within sparse and dense dimensions are supported."
        )
    values = p.values.permute(0, *(d - count + 1 for d in dims[count:]))
    same = dims[:count] == list(range(count))
    return coo(p.indices[dims[:count]], values, [self.shape[d] for d in dims], p.coalesced and same)


@kernel("unsqueeze", COO)
def _unsqueeze(self, dim):
    dim = wrap_dim(dim, self.dim() + 1)
    p, count = parts(self), parts(self).indices.shape[0]
    size = [*self.shape[:dim], 1, *self.shape[dim:]]
    if dim > count:
        return coo(p.indices, p.values.unsqueeze(dim - count + 1), size, p.coalesced)
    zero = p.indices.new_zeros((1, p.indices.shape[1]))
    return coo(aten.cat([p.indices[:dim], zero, p.indices[dim:]]), p.values, size, p.coalesced)


# ---- parts ----


@kernel("select.int", COO)
def _select(self, dim, index):
    if self.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, self.dim())
    length = self.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    p, count = parts(self), parts(self).indices.shape[0]
    size = [*self.shape[:dim], *self.shape[dim + 1 :]]
    if dim >= count:
        return coo(p.indices, p.values.select(dim - count + 1, index % length), size, p.coalesced)
    kept = aten.nonzero(p.indices[dim] == index % length).reshape(-1)
    values = p.values.index_select(0, kept)
    if count == 1:
        return values.sum(0, dtype=values.dtype)
    left = [d for d in range(count) if d != dim]
    return coo(p.indices[left].index_select(1, kept), values, size)


@kernel("select.int", CSR)
@kernel("select_copy.int", CSR)
def _select_compressed(self, dim, index):
    dim, batch = wrap_dim(dim, self.dim()), batch_dim(self)
    length = self.shape[dim]
    if not -length <= index < length:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}"
        )
    p, size = parts(self), [*self.shape[:dim], *self.shape[dim + 1 :]]
    if dim < batch:
        starts, plain, values = (part.select(dim, index).contiguous() for part in (p.compressed, p.plain, p.values))
        return compressed(starts, plain, values, size, self.layout)
    if dim >= batch + 2:
        behind = p.values.dim() - self.dim()
        return compressed(p.compressed, p.plain, p.values.select(dim + behind, index), size, self.layout)
    if batch:
        raise RuntimeError("selecting sparse dimensions is not supported for batched sparse compressed tensors.")
    return _select(to_coo(self), dim, index)


@kernel("unbind.int", COO, CSR)
def _unbind(self, dim=0) -> list:
    return [aten.select(self, dim, i) for i in range(self.shape[wrap_dim(dim, self.dim())])]


@kernel("detach", COO, CSR)
@kernel("alias", COO, CSR)
def _detach(self):
    return with_values(self, parts(self).values)
