"""Indexing operators that are made of the native ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.dimensions import wrap_dim
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


@composite(
    "argwhere(Tensor self) -> Tensor",
    "The positions of the elements that are not zero.",
    bind="function method",
    tags="dynamic_output_shape",
    samples=[S(3, 4)],
)
def argwhere(self: Tensor) -> Tensor:
    return self.nonzero()


@composite(
    "index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor",
    "Gradient of `index_select`.",
)
def index_select_backward(grad: Tensor, self_sizes: Sequence[int], dim: int, index: Tensor) -> Tensor:
    return aten.index_add(grad.new_zeros(self_sizes), dim, index, grad)


@composite("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor", "Gradient of `masked_select`.")
def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    return aten.masked_scatter(aten.zeros_like(input.expand(aten.expand_as(input, mask).shape)), mask, grad)


@composite(
    "nonzero_numpy(Tensor self) -> Tensor[]",
    "The positions of the elements that are not zero, one tensor a dimension.",
    sizes_by_values=True,
)
def nonzero_numpy(self: Tensor) -> list:
    return list((self.unsqueeze(0) if self.dim() == 0 else self).nonzero().unbind(1))


@composite(
    "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    "Ones at the positions that the elements name.",
    bind="nn function",
    functional="one_hot",
    tags="dynamic_output_shape",
    sizes_by_values=lambda self, num_classes=-1: num_classes == -1,
    samples=[S(T(4, dtype="int64", low=0, high=3), 3)],
    dtypes="integer",
)
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    if str(self.dtype) != "torch.int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return self.new_zeros([*self.shape, num_classes])
    if self.is_meta:
        if num_classes == -1:
            raise NotImplementedError("one_hot(): num_classes must be given for a meta tensor")
        return self.new_zeros([*self.shape, num_classes])
    aten._assert_async(self.min() >= 0, "Class values must be non-negative.")
    if num_classes == -1:
        num_classes = self.max().item() + 1
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    else:
        aten._assert_async(self.max() < num_classes, "Class values must be smaller than num_classes.")
    return self.new_zeros([*self.shape, num_classes]).scatter_(-1, self.unsqueeze(-1), 1)


@composite(
    "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    "`gather` whose other dimensions broadcast; without dim, of the flattened tensor.",
    bind="function method out",
    out_dtype="exact",
    samples=[S(T(3, 4), T(3, 1, dtype="int64", low=0, high=4), 1)],
)
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    if str(indices.dtype) != "torch.int64":
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {str(indices.dtype).removeprefix('torch.').capitalize()}"
        )
    if dim is None:
        return self.reshape(-1).gather(0, indices.reshape(-1))
    if self.dim() != indices.dim():
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    dim = wrap_dim(dim, self.dim())
    for d, (a, b) in enumerate(zip(self.shape, indices.shape, strict=True)):
        if d != dim and a != b and 1 not in (a, b):
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {d}"
            )
    indices = indices % self.size(dim)  # PyTorch takes any index round and round
    common = [max(a, b) if 0 not in (a, b) else 0 for a, b in zip(self.shape, indices.shape, strict=True)]
    wide_self = [self.shape[dim] if d == dim else s for d, s in enumerate(common)]
    wide_indices = [indices.shape[dim] if d == dim else s for d, s in enumerate(common)]
    return self.expand(wide_self).gather(dim, indices.expand(wide_indices))


@composite(
    "where(Tensor condition) -> Tensor[]",
    "The positions of the elements that are not zero, one tensor a dimension.",
    bind="function",
)
def where(condition: Tensor) -> Sequence[Tensor]:
    return aten.nonzero_numpy(condition)


def _within(self, indices):
    """Indices that point into the tensor everywhere, so that those of places which a mask covers may be anything."""
    kept = []
    for dim, index in enumerate(indices):
        size = self.size(dim)
        kept.append(None if index is None else aten.clamp(index, -size, max(size - 1, 0)))
    return kept


@composite(
    "_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
    "Elements by index where the mask is set, whose other indices may be anything, and `fill` elsewhere.",
    bind="function",
    node="UnsafeMaskedIndexBackward0",
)
def _unsafe_masked_index(self, mask, indices, fill):
    return aten.masked_fill(aten._unsafe_index(self, _within(self, indices)), aten.logical_not(mask), fill)


@composite(
    "_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
    "The tensor with values added by index where the mask is set, whose other indices may be anything.",
    bind="function",
    node="UnsafeMaskedIndexPutAccumulateBackward0",
)
def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    added = aten.masked_fill(values, aten.logical_not(mask), 0)
    return aten._unsafe_index_put(self, _within(self, indices), added, True)
