"""Products of matrices of which one is sparse, or both."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import aten, class_name, conj
from .convert import coordinates, like, to_coo
from .index import gather_groups
from .parts import BLOCKED, BOOL, bare, coalesced, coo, is_sparse, matrix_parts, parts, spread, starts_of, with_values
from .table import COO, CSR, become, kernel, out

_BOTH = (COO, CSR)
_NARROW = 16  # columns


def _rows(x: Any) -> tuple[Any, Any, Any]:
    """A sparse matrix by rows: where each begins, the columns, the values."""
    if x.layout == _C.sparse_csr:
        return matrix_parts(x)
    p = parts(coalesced(x if x.layout == _C.sparse_coo else to_coo(x)))
    return starts_of(p.indices[0], x.shape[0]), p.indices[1], p.values


def _check(self: Any, mat2: Any) -> None:
    if mat2.dim() != 2:
        raise RuntimeError(f"addmm: 2D tensor expected, got {mat2.dim()}D tensor")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"addmm: Argument #3 (dense): Expected dim 0 size {self.shape[1]}, got {mat2.shape[0]}")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"expected scalar type {class_name(self.dtype)} but found {class_name(mat2.dtype)}")
    if self.dtype == BOOL:
        raise NotImplementedError("\"addmm_sparse_dense\" not implemented for 'Bool'")


def _times_dense(self: Any, dense: Any) -> Any:
    """A sparse matrix times a dense one: each row of the result is a weighted sum of rows, of those of the dense one."""
    _check(self, dense)
    dense = bare(dense)
    if self.layout == _C.sparse_coo and not parts(self).coalesced and dense.shape[1] <= _NARROW:
        # To sort the coordinates would take longer than to add each product for itself.
        (rows, columns), values = parts(self).indices.unbind(0), parts(self).values
        products = values.unsqueeze(1) * dense.index_select(0, columns)
        return dense.new_zeros((self.shape[0], dense.shape[1])).index_add_(0, rows, products)
    return aten._weighted_row_sums(*_rows(self), dense)


def _times_sparse(self: Any, other: Any) -> Any:
    """The product of two sparse matrices: each value meets the row of the other matrix that its column names."""
    if self.shape[1] != other.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({self.shape[0]}x{self.shape[1]} and {other.shape[0]}x{other.shape[1]})"
        )
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {class_name(self.dtype)} but found {class_name(other.dtype)}")
    starts, columns, values = _rows(self)
    its_starts, its_columns, its_values = _rows(other)
    place, position = gather_groups(its_starts, columns)
    indices = aten.stack([spread(starts).index_select(0, place), its_columns.index_select(0, position)])
    products = values.index_select(0, place) * its_values.index_select(0, position)
    return coalesced(coo(indices, products, (self.shape[0], other.shape[1])))


@kernel("_sparse_sparse_matmul", COO)
def _sparse_sparse_matmul(self, other):
    return _times_sparse(self, other)


@kernel("mm", *_BOTH)
def _mm(self, mat2):
    for x, name in ((self, "self"), (mat2, "mat2")):
        if x.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if not is_sparse(mat2):
        return _times_dense(self, mat2)
    if not is_sparse(self):
        return _times_dense(aten.t(mat2), bare(self).t()).t()
    if self.layout in BLOCKED:
        raise NotImplementedError(
            "the product of two sparse matrices in blocks is not implemented; take to_sparse() of them"
        )
    return like(_times_sparse(self, mat2), self)


@kernel("mv", *_BOTH)
def _mv(self, vec):
    if self.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(
            f"mv: two tensor dim should be 2 and 1, but got SparseTensor Dim: {self.dim()} Tensor Dim: {vec.dim()}"
        )
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    if is_sparse(vec):
        raise NotImplementedError("mv() with a sparse vector is not implemented; take its to_dense()")
    return _mm(self, vec.unsqueeze(1)).squeeze(1)


def _added(self: Any, product: Any, beta: Any, alpha: Any) -> Any:
    if is_sparse(self):
        raise NotImplementedError("addmm(): what is added to must be dense; take its to_dense()")
    product = product.to_dense() if is_sparse(product) else product
    scaled = product if alpha == 1 else product * alpha
    wide = bare(self).expand(product.shape)
    return scaled if beta == 0 else scaled + (wide if beta == 1 else wide * beta)


@kernel("addmm", *_BOTH)
@kernel("_sparse_addmm", *_BOTH)
def _addmm(self, mat1, mat2, *, beta=1, alpha=1):
    if not is_sparse(mat1) and not is_sparse(mat2):
        raise NotImplementedError("addmm(): what is added to must be dense; take its to_dense()")
    return _added(self, _mm(mat1, mat2), beta, alpha)


@kernel("bmm", COO)
def _bmm(self, mat2):
    """As one product of a matrix with the batch's matrices along its diagonal."""
    if not is_sparse(self) or is_sparse(mat2):
        raise NotImplementedError("bmm() is implemented for a sparse first and a dense second tensor")
    if self.dim() != 3 or mat2.dim() != 3 or self.shape[0] != mat2.shape[0] or self.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm: expected batches of matrices that can be multiplied, got {list(self.shape)} and {list(mat2.shape)}"
        )
    p = parts(self)
    if p.indices.shape[0] != 3:
        raise NotImplementedError("bmm() of a sparse tensor with dense dimensions is not implemented")
    batch, rows, columns = self.shape
    number, row, column = p.indices.unbind(0)
    wide = coo(
        aten.stack([number * rows + row, number * columns + column]),
        p.values,
        (batch * rows, batch * columns),
        p.coalesced,
    )
    return _times_dense(wide, mat2.reshape(batch * columns, mat2.shape[2])).reshape(batch, rows, mat2.shape[2])


def _check_sampled(self: Any, mat1: Any, mat2: Any) -> None:
    if self.dtype not in (DTYPES[n] for n in ("float32", "float64", "complex64", "complex128")):
        raise RuntimeError(
            f"sparse_sampled_addmm: Expected self to be a floating-point or complex tensor, but got {class_name(self.dtype)}"
        )
    if self.layout != _C.sparse_csr:
        raise RuntimeError(
            f"sampled_addmm: Expected result to have sparse csr layout, but got {LAYOUT_NAMES[self.layout]}"
        )
    for x, name in ((mat1, "mat1"), (mat2, "mat2")):
        if x.layout != _C.strided:
            raise RuntimeError(
                f"sampled_addmm: Expected {name} to have strided layout, but got {LAYOUT_NAMES[x.layout]}"
            )
        if x.dim() < 2:
            raise RuntimeError(f"sampled_addmm: Expected {name} to be a matrix, got {x.dim()}-D tensor")
        if x.shape[:-2] != self.shape[:-2]:
            raise RuntimeError(
                f"sampled_addmm: Expected self and {name} to have the same batch sizes, but got {list(self.shape[:-2])} and "
                f"{list(x.shape[:-2])}"
            )
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            "sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({mat1.shape[-2]}x{mat1.shape[-1]} and {mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    for d, x, name in ((-2, mat1, "mat1"), (-1, mat2, "mat2")):
        if self.shape[d] != x.shape[d]:
            raise RuntimeError(f"sampled_addmm: self.shape[{d}] must match {name}.shape[{d}]")
    for x, y, names in ((mat1, mat2, "mat1 and mat2"), (mat1, self, "mat1 and self")):
        if x.dtype != y.dtype:
            raise RuntimeError(
                f"sampled_addmm: Expected {names} to have the same dtype, but got {class_name(x.dtype)} and {class_name(y.dtype)}"
            )


@kernel("sparse_sampled_addmm", CSR)
def _sampled_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    _check_sampled(self, mat1, mat2)
    *batch, rows, columns = coordinates(self)
    left, right = aten.index(bare(mat1), [*batch, rows]), aten.index(bare(mat2).mT, [*batch, columns])
    products = (left * right).sum(-1).reshape(parts(self).values.shape)
    values = products if alpha == 1 else products * alpha
    return with_values(self, values if beta == 0 else aten.add(values, parts(self).values, alpha=beta))


@out("sparse_sampled_addmm", CSR)
def _sampled_addmm_out(self, mat1, mat2, *, beta=1, alpha=1, out):
    return become(out, _sampled_addmm(self, mat1, mat2, beta=beta, alpha=alpha))


@kernel("matmul", *_BOTH)
def _matmul(self, other):
    dims = (self.dim(), other.dim())
    if dims == (2, 2):
        return _mm(self, other)
    if dims == (2, 1):
        return _mv(self, other)
    if dims == (1, 2):
        return _mv(aten.t(other), self)
    if dims == (3, 3):
        return aten.bmm(self, other)
    raise NotImplementedError(f"matmul() of sparse tensors with {dims[0]} and {dims[1]} dimensions is not implemented")


@kernel("matmul_backward", *_BOTH)
def _matmul_backward(grad, self, other, mask) -> tuple:
    left = right = None
    dims = (self.dim(), other.dim())
    if dims == (2, 1):
        if mask[0]:
            left = grad.unsqueeze(1) * conj(other)
        if mask[1]:
            right = _mv(conj(aten.t(self)), grad)
        return left, right
    if dims == (1, 2):
        if mask[0]:
            left = _mv(conj(other), grad)
        if mask[1]:
            right = conj(self).unsqueeze(1) * grad
        return left, right
    if mask[0]:
        left = aten.matmul(grad, conj(other.transpose(-2, -1)))
    if mask[1]:
        right = aten.matmul(conj(self.transpose(-2, -1)), grad)
    return left, right


@kernel("linear", *_BOTH)
def _linear(input, weight, bias=None):
    if is_sparse(input) or input.dim() > 2 or weight.dim() != 2:
        raise NotImplementedError(
            "linear() of sparse tensors is implemented for a dense input and a sparse weight matrix"
        )
    out = aten.matmul(input, aten.t(weight))
    return out if bias is None else out + bias


@kernel("linear_backward", *_BOTH)
def _linear_backward(self, grad_output, weight, output_mask) -> tuple:
    slopes, rows = (x.reshape(-1, x.shape[-1]) for x in (grad_output, self))
    return (
        _mm(slopes, weight).reshape(self.shape) if output_mask[0] else None,
        aten.mm(slopes.t(), rows) if output_mask[1] else None,
        slopes.sum(0) if output_mask[2] else None,
    )
