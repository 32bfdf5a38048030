"""Tables that are looked up by row, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..copies import fill
from ..indexing import Pick, Work, combine, move
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_BAGS = Source("embedding_bag.cuh", "embedding_bag")
_SUM, _MEAN, _MAX = range(3)


def _rows(table: Tensor, indices: Tensor, other: Tensor) -> Work:
    """Work over rows of `other`, a matrix, each of which is the row of a table that an index names."""
    pick = Pick(indices, [1, 0], table.shape[0], table.stride(0))
    return Work(list(other.shape), [0, table.stride(1)], list(other.stride()), [pick])


def _flat(indices: Tensor) -> Tensor:
    return indices.reshape(-1).to(DTYPES["int64"]).contiguous()


@kernel("embedding", flags=CONTIGUOUS)
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool, out: Tensor
) -> None:
    if out.numel():
        rows = out.view(-1, weight.shape[1])
        move(weight, rows, _rows(weight, _flat(indices), rows))


@kernel("embedding_dense_backward", flags=CONTIGUOUS)
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, out: Tensor
) -> None:
    fill(out, 0)
    if not grad_output.numel() or not out.numel():
        return
    flat = _flat(indices)
    if padding_idx >= 0:
        flat = aten.masked_fill(flat, flat == padding_idx, -1)
    grad = grad_output.reshape(-1, out.shape[1])
    work = _rows(out, flat, grad)
    combine("Mean" if scale_grad_by_freq else "Sum", out, grad, work, include=False, ignore=True)


@kernel("embedding_renorm_")
def embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    rows = aten.index_select(self, 0, _flat(indices))
    norms = aten.linalg_vector_norm(rows.to(DTYPES["float64"]), norm_type, [1], True)
    scale = aten.where(norms > max_norm, max_norm / (norms + 1e-7), aten.ones_like(norms))
    self.index_copy_(0, _flat(indices), aten.where(norms > max_norm, rows * scale.to(self.dtype), rows))
    return self


# ---- bags ----


@kernel("_embedding_bag", "_embedding_bag_forward_only")
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    if indices.dim() != 1:
        raise RuntimeError(f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}")
    if offsets.dim() != 1:
        raise RuntimeError(f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}")
    if weight.dim() != 2:
        raise RuntimeError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if not _SUM <= mode <= _MAX:
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None and mode != _SUM:
        raise RuntimeError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum'"
        )
    if include_last_offset and not offsets.numel():
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    table, rows, starts = weight.contiguous(), _flat(indices), _flat(offsets)
    bags, width = offsets.numel() - int(include_last_offset), weight.shape[1]
    out = aten.new_zeros(weight, [bags, width])
    sizes = aten.new_zeros(rows, [bags])
    bag_of = aten.new_zeros(rows, [rows.shape[0]])
    winners = aten.new_zeros(rows, [bags, width] if mode == _MAX else [bags])
    scales = None if per_sample_weights is None else per_sample_weights.contiguous()
    words = (("ELEMENT", element(weight.dtype)), ("MODE", str(mode)), ("WEIGHTED", str(int(scales is not None))))
    if bags:
        arguments = pack(
            bags, width, rows.shape[0], starts.shape[0], weight.shape[0], padding_idx,
            table, rows, starts, scales, out, sizes, bag_of, winners,
        )  # fmt: skip
        _BAGS.launch(weight.device.index, words, (blocks(bags * max(1, width), 128),), (128,), arguments)
    if mode != _MAX:
        winners = sizes.clone()
    return out, bag_of, sizes, winners


@kernel("_embedding_bag_dense_backward", flags=CONTIGUOUS)
def embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int,
    out: Tensor,
) -> None:
    fill(out, 0)
    if not grad.numel() or not out.numel():
        return
    if mode == _MAX:
        given = aten.where((bag_size == 0).unsqueeze(-1), aten.zeros_like(grad), grad)
        out.scatter_add_(0, maximum_indices.to(DTYPES["int64"]), given)
        return
    flat, bags = _flat(indices), _flat(offset2bag)
    rows = aten.index_select(grad, 0, bags)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    if mode == _MEAN:
        rows = rows / aten.index_select(bag_size.clamp(min=1), 0, bags).unsqueeze(-1)
    out.copy_(aten.embedding_dense_backward(rows, flat, num_weights, padding_idx, scale_grad_by_freq))


@kernel("_embedding_bag_per_sample_weights_backward", flags=CONTIGUOUS)
def per_sample_weights_backward(
    grad: Tensor,
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    mode: int,
    padding_idx: int,
    out: Tensor,
) -> None:
    if not out.numel():
        return
    rows = _flat(indices)
    there = rows != padding_idx
    products = aten.index_select(grad, 0, _flat(offset2bag)) * aten.index_select(
        weight, 0, aten.where(there, rows, aten.zeros_like(rows))
    )
    out.copy_(aten.where(there, products.sum(1), aten.zeros_like(out)))
