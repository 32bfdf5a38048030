"""Sparse tensors that get other sizes or elements in place, and copies of what they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import _C
from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _check_dims(size, sparse_dim, dense_dim) -> None:
    if sparse_dim + dense_dim != len(size):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({sparse_dim}) + dense_dim ({dense_dim}), but got {len(size)}"
        )


def _check_shrinks(self, size, sparse_dim, dense_dim) -> None:
    """Elements keep their places, so there has to be room for them."""
    for kind, now, wanted in (
        ("sparse", self.sparse_dim(), sparse_dim),
        ("dense", self.dense_dim(), dense_dim),
    ):
        if now != wanted:
            raise RuntimeError(
                f"changing the number of {kind} dimensions (from {now} to {wanted}) on a non-empty sparse tensor is not "
                "supported."
            )
    for kind, begin, end in (("sparse", 0, sparse_dim), ("dense", sparse_dim, len(size))):
        before, after = list(self.shape[begin:end]), list(size[begin:end])
        if any(b < a for a, b in zip(before, after, strict=True)):
            raise RuntimeError(
                f"shrinking the size of {kind} dimensions (from {before} to {after}) on a non-empty sparse tensor is not "
                "supported."
            )


def _empty(self, size, sparse_dim):
    indices = self._indices().new_empty([sparse_dim, 0])
    return aten._sparse_coo_tensor_unsafe(indices, self._values().new_empty([0, *list(size)[sparse_dim:]]), size)


@composite(
    "sparse_resize_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
    "Gives a sparse tensor other sizes; its elements stay where they are.",
    bind="method",
    samples=None,
)
def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    _check_dims(size, sparse_dim, dense_dim)
    if not self._nnz():
        return _C._become_sparse(self, _empty(self, size, sparse_dim))
    _check_shrinks(self, size, sparse_dim, dense_dim)
    values = self._values()
    more = [n for b, a in zip(reversed(size[sparse_dim:]), reversed(values.shape[1:])) for n in (0, b - a)]
    values = aten.constant_pad_nd(values, more) if any(more) else values
    return _C._become_sparse(
        self, aten._sparse_coo_tensor_unsafe(self._indices(), values, size, is_coalesced=self.is_coalesced())
    )


@composite(
    "sparse_resize_and_clear_(Tensor(a!) self, int[] size, int sparse_dim, int dense_dim) -> Tensor(a!)",
    "Gives a sparse tensor other sizes, and takes its elements away.",
    bind="method",
    samples=None,
)
def sparse_resize_and_clear_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    _check_dims(size, sparse_dim, dense_dim)
    return _C._become_sparse(self, _empty(self, size, sparse_dim))


@composite(
    "resize_as_sparse_(Tensor(a!) self, Tensor the_template) -> Tensor(a!)",
    "Gives a sparse tensor the sizes of another.",
    bind="method",
    samples=None,
)
def resize_as_sparse_(self: Tensor, the_template: Tensor) -> Tensor:
    same = self.sparse_dim() == the_template.sparse_dim() and self.dense_dim() == the_template.dense_dim()
    if same and self.shape == the_template.shape:
        return self
    return sparse_resize_(self, the_template.shape, the_template.sparse_dim(), the_template.dense_dim())


def _copied(name) -> None:
    @composite(
        f"{name}_copy(Tensor self) -> Tensor",
        f"A copy of what `{name}` gives.",
        bind="function generated_out",
        tags="view_copy",
        samples=None,
    )
    def copied(self: Tensor) -> Tensor:
        return aten.clone(getattr(aten, name)(self), memory_format=_C.contiguous_format)


for _name in ("crow_indices", "col_indices", "ccol_indices", "row_indices", "values"):
    _copied(_name)
