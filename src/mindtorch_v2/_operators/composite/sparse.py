"""Sparse tensors: what they are made of, conversions, and the operators that only they have. Kernels: `_sparse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ... import _C
from ..._core.above import above
from ..._core.dtype import DTYPES
from ..table import ROWS, S, T, aten, class_name, composite, conj, declare

if TYPE_CHECKING:
    from ..._tensor import Tensor


LAYOUT_NAMES = {
    _C.strided: "Strided",
    _C.sparse_coo: "Sparse",
    _C.sparse_csr: "SparseCsr",
    _C.sparse_csc: "SparseCsc",
    _C.sparse_bsr: "SparseBsr",
    _C.sparse_bsc: "SparseBsc",
}
_BLOCKED = (_C.sparse_bsr, _C.sparse_bsc)
_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None"


def _refuse(name, expected, self):
    raise RuntimeError(f"{name} expected {expected} tensor layout but got {LAYOUT_NAMES.get(self.layout, self.layout)}")


def _only(schema, doc, expected, grad=None) -> None:
    """A row for some layouts; on every other the operator says what it expected."""
    name = schema.partition("(")[0]

    def body(self: Tensor) -> None:
        _refuse(name, expected, self)

    body.__module__ = __name__
    composite(schema, doc, bind="method", explicit=True, grad=grad, samples=None)(body)


# ---- making them ----


def _values_at(grad, indices):
    """The values of a gradient at the coordinates of a tensor that was made of values."""
    if grad.layout != _C.strided and grad.requires_grad:
        grad = (
            grad.to_dense()
        )  # coordinates may repeat, and no sparse operator of PyTorch's tells the values of those apart
    if grad.layout == _C.strided:
        return aten.index(grad, list(indices.unbind(0))) if indices.shape[0] else grad.unsqueeze(0)
    ones = grad._values().new_ones((indices.shape[1], *grad.shape[indices.shape[0] :]))
    return aten.sparse_mask(grad, aten._sparse_coo_tensor_unsafe(indices, ones, grad.shape))._values()


declare(
    f"_sparse_coo_tensor_with_dims_and_tensors(int sparse_dim, int dense_dim, SymInt[] size, Tensor indices, Tensor values, *, {_FACTORY}, bool? pin_memory=False, bool? is_coalesced=None) -> Tensor",
    "A coordinate tensor of indices and values.",
    bind="function generated_out",
    grad={"values": lambda grad, indices: _values_at(grad, indices)},
)


@composite(
    f"_sparse_coo_tensor_unsafe(Tensor indices, Tensor values, SymInt[] size, *, {_FACTORY}, bool? pin_memory=None, bool? is_coalesced=None) -> Tensor",
    "A coordinate tensor of indices and values that are not checked.",
    bind="function",
)
def _sparse_coo_tensor_unsafe(indices, values, size, *, dtype=None, layout=None, device=None, pin_memory=None, is_coalesced=None):  # fmt: skip
    count = indices.shape[0]
    return aten._sparse_coo_tensor_with_dims_and_tensors(
        count, len(size) - count, size, indices, values, is_coalesced=is_coalesced
    )


declare(
    f"_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, {_FACTORY}, bool? pin_memory=None) -> Tensor",
    "A tensor of a compressed layout of parts that are not checked.",
    bind="function",
    grad={
        "values": lambda grad, result: (aten.sparse_mask(grad, result) if grad.layout == _C.strided else grad).values()
    },
)


declare(
    "_validate_sparse_coo_tensor_args(Tensor indices, Tensor values, int[] size, bool? is_coalesced=None, "
    "bool? check_pinning=None) -> ()",
    "RuntimeError unless a coordinate tensor can be made of these parts.",
    bind="function",
)
declare(
    "_validate_sparse_compressed_tensor_args(Tensor compressed_indices, Tensor plain_indices, Tensor values, int[] size, "
    "Layout layout, bool? check_pinning=None) -> ()",
    "RuntimeError unless a tensor of a compressed layout can be made of these parts.",
    bind="function",
)


def _validate_as(name: str, starts: str, plain: str) -> None:
    """`_validate_sparse_compressed_tensor_args` for the layout that is called `name`."""

    @composite(
        f"_validate_sparse_{name}_tensor_args(Tensor {starts}, Tensor {plain}, Tensor values, int[] size, "
        "bool? check_pinning=None) -> ()",
        f"RuntimeError unless a tensor of the layout `sparse_{name}` can be made of these parts.",
        bind="function",
    )
    def validate(
        compressed: Tensor, plain: Tensor, values: Tensor, size: Sequence[int], check_pinning: bool | None = None
    ) -> None:
        layout = getattr(_C, f"sparse_{name}")
        aten._validate_sparse_compressed_tensor_args(compressed, plain, values, size, layout, check_pinning)


_validate_as("csr", "crow_indices", "col_indices")
_validate_as("csc", "ccol_indices", "row_indices")
_validate_as("bsr", "crow_indices", "col_indices")
_validate_as("bsc", "ccol_indices", "row_indices")


# ---- what they are made of ----

declare(
    "_indices(Tensor(a) self) -> Tensor(a)",
    "The coordinates, (sparse_dim, nnz), also of an uncoalesced tensor.",
    bind="method",
)
declare("_values(Tensor(a) self) -> Tensor(a)", "The values, also of an uncoalesced tensor.", bind="method")
declare("_nnz(Tensor self) -> int", "How many values are stored.", bind="method")
declare("_dimI(Tensor self) -> int", "Number of sparse dimensions.", bind="method")
declare("_dimV(Tensor self) -> int", "Number of dense dimensions.", bind="method")
declare(
    "_coalesced_(Tensor(a!) self, bool coalesced) -> Tensor(a!)",
    "Says whether the coordinates are sorted and distinct.",
    bind="method",
)
_only(
    "indices(Tensor(a) self) -> Tensor(a)",
    "The coordinates of a coalesced tensor, (sparse_dim, nnz).",
    "sparse coordinate",
)


def _values_grad(grad, self):
    if self.layout == _C.sparse_coo:
        return aten._sparse_coo_tensor_unsafe(self._indices(), grad, self.shape, is_coalesced=True)
    rows, columns = _C._sparse_parts(self).compressed, _C._sparse_parts(self).plain
    return aten._sparse_compressed_tensor_unsafe(rows, columns, grad, self.shape, layout=self.layout)


_only(
    "values(Tensor(a) self) -> Tensor(a)",
    "The values of a coalesced or compressed tensor.",
    "sparse",
    {"self": _values_grad},
)
_only("crow_indices(Tensor(a) self) -> Tensor(a)", "Where the rows of a csr tensor begin.", "sparse row compressed")
_only("col_indices(Tensor(a) self) -> Tensor(a)", "The column of each value of a csr tensor.", "sparse row compressed")
_only(
    "ccol_indices(Tensor(a) self) -> Tensor(a)", "Where the columns of a csc tensor begin.", "sparse column compressed"
)
_only("row_indices(Tensor(a) self) -> Tensor(a)", "The row of each value of a csc tensor.", "sparse column compressed")
_only("is_coalesced(Tensor self) -> bool", "Whether the coordinates are sorted and distinct.", "sparse coordinate")


@composite(
    "_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor",
    "Where each of `size` rows begins among sorted row numbers, and where the last one ends.",
    bind="function out",
    explicit=True,
    samples=None,
)
def _convert_indices_from_coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    if self.dim() > 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {self.dim()} dimensional tensor.")
    if self.is_floating_point() or self.is_complex() or self.dtype == DTYPES["bool"]:
        raise NotImplementedError(
            f"\"convert_indices_from_coo_to_csr_cpu\" not implemented for '{class_name(self.dtype)}'"
        )
    rows = aten.arange(size + 1, dtype=self.dtype, device=self.device)
    return aten.searchsorted(self.reshape(-1), rows, out_int32=out_int32)


@composite(
    "_convert_indices_from_csr_to_coo(Tensor crow_indices, Tensor col_indices, *, bool out_int32=False,"
    " bool transpose=False) -> Tensor",
    "The coordinates of the values of a csr tensor, or of a batch of them; `transpose` names columns first.",
    bind="function out",
    explicit=True,
    samples=None,
)
def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    size = crow_indices.size(-1) - 1
    counts = crow_indices.diff().reshape([-1])
    places = aten.arange(counts.numel(), device=crow_indices.device)
    places = aten.repeat_interleave(places, counts)
    columns = col_indices.reshape([-1])
    parts = [columns, places % size] if transpose else [places % size, columns]
    if crow_indices.dim() > 1:
        parts.insert(0, places // size)
    return aten.stack([part.to(DTYPES["int32" if out_int32 else "int64"]) for part in parts])


@composite("sparse_dim(Tensor self) -> int", "Number of sparse dimensions.", bind="method", explicit=True, samples=None)
def sparse_dim(self: Tensor) -> int:
    return 0


@composite("dense_dim(Tensor self) -> int", "Number of dense dimensions.", bind="method", explicit=True, samples=None)
def dense_dim(self: Tensor) -> int:
    return self.dim()


declare(
    "_coalesce(Tensor self) -> Tensor",
    "The same tensor with sorted and distinct coordinates.",
    bind="generated_out",
    grad={"self": lambda grad: grad},
)


@composite(
    "coalesce(Tensor(a) self) -> Tensor(a)",
    "The same tensor with sorted and distinct coordinates; values at equal ones are added.",
    bind="method",
    samples=None,
)
def coalesce(self: Tensor) -> Tensor:
    if self.layout != _C.sparse_coo:
        _refuse("coalesce", "sparse coordinate", self)
    return self if self.is_coalesced() else aten._coalesce(self)


# ---- conversions ----


def _to_dense_grad(grad, self, masked_grad):
    if self.layout == _C.strided:
        return grad
    if self.layout == _C._mkldnn:
        return grad.to_mkldnn(self.dtype)
    if masked_grad is None or masked_grad:
        return aten.sparse_mask(grad, self.coalesce() if self.layout == _C.sparse_coo else self)
    return grad.to_sparse(self.sparse_dim()) if self.layout == _C.sparse_coo else _back_to(grad, self)


declare(
    "_to_dense(Tensor self, ScalarType? dtype=None, bool? masked_grad=None) -> Tensor",
    "A sparse tensor written out.",
    bind="method generated_out",
    grad={"self": _to_dense_grad},
)


@composite(
    "to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor",
    "A sparse tensor written out; a dense one itself, or a copy of another dtype.",
    bind="method",
    samples=[S(T(3, 4)), S(T(3, 4), DTYPES["float64"])],
    gives_back=True,
)
def to_dense(self: Tensor, dtype: _C.dtype | None = None, *, masked_grad: bool | None = None) -> Tensor:
    if self.layout == _C.strided:
        return self if dtype is None or dtype == self.dtype else aten._to_copy(self, dtype=dtype)
    return aten._to_dense(self, dtype, masked_grad)


declare(
    "to_mkldnn(Tensor self, ScalarType? dtype=None) -> Tensor",
    "The tensor in oneDNN's layout.",
    bind="method",
    grad={"self": lambda grad, self: grad.to_dense(self.dtype) if grad.layout == _C._mkldnn else grad},
)
ROWS["to_mkldnn"].handle.impl("CPU", lambda self, dtype=None: above.to_onednn(self, dtype))


def _back_to(grad, self):
    if self.layout == _C.strided:
        return grad.to_dense()
    return grad.to_sparse(layout=self.layout, blocksize=_blocksize(self))


def _blocksize(x):
    return list(x.values().shape[1:]) if x.layout in _BLOCKED else None


declare(
    "_to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    "The elements that are not zero as a coordinate tensor with this many sparse dimensions.",
    bind="method generated_out",
    grad={"self": lambda grad, self: _back_to(grad, self)},
)
declare(
    "_to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    "The elements that are not zero, in a sparse layout.",
    bind="method generated_out",
    grad={"self": lambda grad, self: _back_to(grad, self)},
)


@composite(
    "to_sparse.sparse_dim(Tensor self, int sparse_dim) -> Tensor",
    "The elements that are not zero as a coordinate tensor with this many sparse dimensions.",
    bind="method",
    samples=None,
)
def to_sparse_dims(self: Tensor, sparse_dim: int) -> Tensor:
    if self.layout == _C.sparse_coo:
        if sparse_dim != self.sparse_dim():
            raise RuntimeError(
                "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"
            )
        return self
    return aten._to_sparse(self, sparse_dim)


@composite(
    "to_sparse(Tensor self, *, Layout? layout=None, int[2]? blocksize=None, int? dense_dim=None) -> Tensor",
    "The elements that are not zero, in a sparse layout: coordinates unless `layout` says otherwise.",
    bind="method",
    samples=None,
)
def to_sparse(
    self: Tensor,
    *,
    layout: _C.layout | None = None,
    blocksize: Sequence[int] | None = None,
    dense_dim: int | None = None,
) -> Tensor:
    layout = _C.sparse_coo if layout is None else layout
    if layout == self.layout and blocksize is None:
        return self
    return aten._to_sparse(self, layout=layout, blocksize=blocksize, dense_dim=dense_dim)


for _short in ("csr", "csc"):
    declare(
        f"_to_sparse_{_short}(Tensor self, int? dense_dim=None) -> Tensor",
        f"The tensor in the layout sparse_{_short}.",
        bind="method generated_out",
        grad={"self": lambda grad, self: _back_to(grad, self)},
    )


@composite(
    "to_sparse_csr(Tensor self, int? dense_dim=None) -> Tensor",
    "The matrix compressed by rows.",
    bind="method",
    samples=None,
)
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return self if self.layout == _C.sparse_csr else aten._to_sparse_csr(self, dense_dim)


@composite(
    "to_sparse_csc(Tensor self, int? dense_dim=None) -> Tensor",
    "The matrix compressed by columns.",
    bind="method",
    samples=None,
)
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    return self if self.layout == _C.sparse_csc else aten._to_sparse_csc(self, dense_dim)


for _short in ("bsr", "bsc"):
    declare(
        f"_to_sparse_{_short}(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor",
        f"The tensor in the layout sparse_{_short}.",
        bind="method generated_out",
        grad={"self": lambda grad, self: _back_to(grad, self)},
    )


@composite(
    "to_sparse_bsr(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor",
    "The matrix in blocks, compressed by rows of blocks.",
    bind="method",
    samples=None,
)
def to_sparse_bsr(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    return aten._to_sparse_bsr(self, blocksize, dense_dim)


@composite(
    "to_sparse_bsc(Tensor self, int[2] blocksize, int? dense_dim=None) -> Tensor",
    "The matrix in blocks, compressed by columns of blocks.",
    bind="method",
    samples=None,
)
def to_sparse_bsc(self: Tensor, blocksize: Sequence[int], dense_dim: int | None = None) -> Tensor:
    return aten._to_sparse_bsc(self, blocksize, dense_dim)


def _sparse_mask_grad(grad, self, mask):
    if grad.layout == _C.strided:
        grad = aten.sparse_mask(grad, mask)
    return grad.to_dense() if self.layout == _C.strided else grad


declare(
    "sparse_mask(Tensor self, Tensor mask) -> Tensor",
    "The elements of `self` at the coordinates of the sparse tensor `mask`.",
    bind="method generated_out",
    grad={"self": _sparse_mask_grad},
)


# ---- products, sums, softmax ----


def _product_at(pattern, left, right):
    """The elements of `left @ right.T` where `pattern` has values, without the whole of that matrix."""
    coo = pattern.coalesce() if pattern.layout == _C.sparse_coo else pattern.to_sparse()
    rows, columns = coo._indices().unbind(0)
    values = (left.index_select(0, rows) * right.index_select(0, columns)).sum(1)
    made = aten._sparse_coo_tensor_unsafe(coo._indices(), values, pattern.shape, is_coalesced=coo.is_coalesced())
    return made if pattern.layout == _C.sparse_coo else _back_to(made, pattern)


def _sparse_addmm_mat1(grad, mat1, mat2, alpha):
    if mat1.layout != _C.strided and grad.layout == mat2.layout == _C.strided:
        slope = _product_at(mat1.detach(), grad, conj(mat2))
    else:
        slope = aten.mm(grad, conj(mat2.t()))
    return slope if alpha == 1 else slope * conj(alpha)


def _sparse_addmm_mat2(grad, mat1, alpha):
    slope = aten.mm(conj(mat1.t()), grad)
    return slope if alpha == 1 else slope * conj(alpha)


declare(
    "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * (mat1 @ mat2)`; the gradient of a sparse `mat1` has its pattern.",
    bind="function generated_out",
    grad={
        "self": lambda grad, beta: grad if beta == 1 else grad * conj(beta),
        "mat1": _sparse_addmm_mat1,
        "mat2": _sparse_addmm_mat2,
    },
)


def _sparse_product_left(grad, self, other):
    return aten.sparse_mask(aten._sparse_sparse_matmul(grad, conj(other.t())), self.coalesce())


def _sparse_product_right(grad, self, other):
    return aten.sparse_mask(aten._sparse_sparse_matmul(conj(self.t()), grad), other.coalesce())


declare(
    "_sparse_sparse_matmul(Tensor self, Tensor other) -> Tensor",
    "The product of two coordinate matrices, a coordinate matrix.",
    bind="function generated_out",
    grad={"self": _sparse_product_left, "other": _sparse_product_right},
)


@composite(
    "_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", "The product of a sparse matrix and another.", bind="function"
)
def _sparse_mm(sparse, dense):
    if sparse.layout == dense.layout == _C.sparse_coo:
        return aten._sparse_sparse_matmul(sparse, dense)
    if sparse.layout == dense.layout:
        return aten.mm(sparse, dense)
    plain = dense if dense.layout == _C.strided else sparse
    zero = plain.new_zeros((sparse.shape[0], dense.size(1)))
    return aten._sparse_addmm(zero, sparse, dense, beta=0)


@composite(
    "_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor",
    "The product of a csr matrix and a dense one, whose terms are joined as `reduce` says.",
    bind="function",
)
def _sparse_mm_reduce(sparse, dense, reduce):
    return aten._sparse_mm_reduce_impl(sparse, dense, reduce)[0]


def _reduced_product_grad(grad, self, other, reduce, result1, needs):
    return aten._sparse_mm_reduce_impl_backward(self, grad, other, reduce, result1, list(needs))


declare(
    "_sparse_mm_reduce_impl(Tensor self, Tensor other, str reduce) -> (Tensor, Tensor)",
    "The product of a csr matrix and a dense one, and which term was taken for each element (amax, amin).",
    grad={("self", "other"): _reduced_product_grad},
    nondiff=(1,),
)
declare(
    "_sparse_mm_reduce_impl_backward(Tensor self, Tensor grad_out, Tensor weight, str reduce, Tensor arg_out, "
    "bool[2] output_mask) -> (Tensor, Tensor)",
    "The gradients of `_sparse_mm_reduce_impl`; that of the sparse matrix has its pattern.",
)


def _at_pattern(grad, self):
    return aten.sparse_mask(grad, self) if grad.layout == _C.strided else grad


def _sampled_mat1_grad(grad, self, mat2, alpha):
    return aten.mm(_at_pattern(grad, self), conj(mat2.t())) * conj(alpha)


def _sampled_mat2_grad(grad, self, mat1, alpha):
    return aten.mm(conj(_at_pattern(grad, self).t()), mat1).t().conj() * conj(alpha)


declare(
    "sparse_sampled_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    "`beta * self + alpha * (mat1 @ mat2)` where the csr matrix `self` has values.",
    bind="out",
    grad={
        "self": lambda grad, beta: grad if beta == 1 else grad * conj(beta),
        "mat1": _sampled_mat1_grad,
        "mat2": _sampled_mat2_grad,
    },
)


@composite(
    "_spdiags(Tensor diagonals, Tensor offsets, int[] shape, Layout? layout=None) -> Tensor",
    "A sparse matrix of some of its diagonals.",
    bind="function generated_out",
)
def _spdiags(diagonals, offsets, shape, layout=None):
    if layout not in (None, _C.sparse_coo, _C.sparse_csr, _C.sparse_csc):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got {LAYOUT_NAMES.get(layout, layout)}"
        )
    if not 1 <= diagonals.dim() <= 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.dim() > 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if len(shape) != 2:
        raise RuntimeError(f"Output shape must have two sizes, got {len(shape)}")
    diagonals, offsets = diagonals.reshape([-1, diagonals.size(-1)]), offsets.reshape([-1])
    if diagonals.size(0) != offsets.size(0):
        raise RuntimeError(
            f"Number of diagonals ({diagonals.size(0)}) does not match the number of offsets ({offsets.size(0)})"
        )
    if offsets.dtype != DTYPES["int64"]:
        raise RuntimeError(f"Offset Tensor must have dtype Long but got {class_name(offsets.dtype)}")
    if len(set(offsets.tolist())) != offsets.size(0):
        raise RuntimeError("Offset tensor contains duplicate values")
    columns = aten.arange(diagonals.size(1), device=diagonals.device).expand(diagonals.shape)
    rows = columns - offsets.unsqueeze(1)
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    places = aten.stack([rows[inside], columns[inside]])
    made = aten._sparse_coo_tensor_unsafe(places, diagonals[inside], shape)
    return made if layout in (None, _C.sparse_coo) else made.to_sparse(layout=layout)


@composite("_sparse_sum(Tensor self) -> Tensor", "The sum of all values.", bind="function")
def _sparse_sum(self):
    return self.coalesce().values().sum()


@composite("_sparse_sum.dtype(Tensor self, *, ScalarType dtype) -> Tensor", "The sum of all values.", bind="function")
def _sparse_sum_dtype(self, *, dtype):
    return self.coalesce().values().sum(dtype=dtype)


declare(
    "_sparse_sum.dim(Tensor self, int[1] dim) -> Tensor",
    "Sums over some dimensions; sparse while a sparse dimension is left.",
    bind="function generated_out",
    grad={"self": lambda grad, self, dim: aten._sparse_sum_backward(grad, self, dim)},
)
declare(
    "_sparse_sum_backward(Tensor grad, Tensor self, int[] dim) -> Tensor",
    "The gradient of `_sparse_sum.dim`.",
    bind="generated_out",
    grad={"grad": lambda grad, dim: aten._sparse_sum(grad, dim)},
)


@composite(
    "_sparse_sum.dim_dtype(Tensor self, int[1] dim, *, ScalarType dtype) -> Tensor",
    "Sums over some dimensions.",
    bind="function",
)
def _sparse_sum_dim_dtype(self, dim, *, dtype):
    return aten._sparse_sum(self.to(dtype), dim)


def _no_second(name):
    def refuse(grad: Any) -> NoReturn:
        raise NotImplementedError(f"derivative for aten::{name} is not implemented")

    return refuse


def _softmax_grad(backward) -> dict:
    return {"self": lambda grad, self, dim, result: getattr(aten, backward)(grad, result, dim, self)}


for _name in ("_sparse_softmax", "_sparse_log_softmax"):
    declare(
        f"{_name}(Tensor self, int dim, bool half_to_float) -> Tensor",
        "Over the stored values: what is not stored counts as minus infinity.",
        bind="function generated_out",
        grad=_softmax_grad(f"{_name}_backward_data"),
    )
    declare(
        f"{_name}_backward_data(Tensor grad_output, Tensor output, int dim, Tensor self) -> Tensor",
        f"The gradient of `{_name}`.",
        bind="generated_out",
        grad={("grad_output", "output"): _no_second(f"{_name}_backward_data")},
    )


@composite(
    "_sparse_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "Softmax of the stored values.",
    bind="function",
)
def _sparse_softmax_int(self, dim, dtype=None):
    return aten._sparse_softmax(self if dtype is None else self.to(dtype), dim, False)


@composite(
    "_sparse_log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "Logarithm of the softmax of the stored values.",
    bind="function",
)
def _sparse_log_softmax_int(self, dim, dtype=None):
    return aten._sparse_log_softmax(self if dtype is None else self.to(dtype), dim, False)


# ---- gradients of tables ----

declare(
    "_embedding_bag_sparse_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, Tensor bag_size, SymInt num_weights, bool scale_grad_by_freq, int mode, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
    "The gradient of the table of an `embedding_bag`: a row for each index.",
    grad={"grad": _no_second("_embedding_bag_sparse_backward")},
)
declare(
    "embedding_sparse_backward(Tensor grad, Tensor indices, int num_weights, int padding_idx, bool scale_grad_by_freq) -> Tensor",
    "The gradient of an embedding's table: a row for each index.",
    grad={"grad": _no_second("embedding_sparse_backward")},
)
