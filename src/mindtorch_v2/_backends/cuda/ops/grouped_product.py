"""Products of groups of rows, as mixtures of experts need them, and with weights of eight bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..pointwise import itemsize
from ..table import CONTIGUOUS, element, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _check_operand(t: Tensor) -> None:
    """Take matrices in rows or columns, whose rows begin at multiples of 16 bytes, as PyTorch's fused kernels."""
    row, col = t.stride(-2), t.stride(-1)
    m, n = t.shape[-2:]
    in_columns = row == 1 and col >= max(1, m)
    if not (in_columns or (col == 1 and row >= max(1, n))):
        raise RuntimeError(f"Invalid strides/sizes, got {list(t.stride())} for strides and {list(t.shape)} for sizes")
    if (col if in_columns else row) % (16 // itemsize(element(t.dtype))):
        raise RuntimeError("strides should be multiple of 16 bytes")


@kernel("_grouped_mm")
def grouped_mm(
    self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    if self.dim() not in (2, 3) or mat2.dim() not in (2, 3):
        raise RuntimeError("mat_a and mat_b have to be 2d or 3d")
    if self.dtype != mat2.dtype:
        raise RuntimeError(f"Expected mat_a and mat_b to have the same dtype, got {self.dtype} and {mat2.dtype}")
    ragged = 2 in (self.dim(), mat2.dim())
    if ragged != (offs is not None):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    both = self.dim() == mat2.dim() == 2
    if not both and self.shape[-1] != mat2.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    _check_operand(self)
    _check_operand(mat2)
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype not in (None, self.dtype):
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    m, n = self.shape[-2], mat2.shape[-1]
    row = -(-n * self.dtype.itemsize // 16) * 16 // self.dtype.itemsize
    if offs is None:
        made = aten.zeros([self.shape[0], m, row], dtype=self.dtype, device=self.device)[..., :n]
        return made.copy_(aten.bmm(self, mat2))
    if offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if str(offs.dtype).rpartition(".")[2] != "int32":
        raise RuntimeError("Offsets have to be int32")
    groups = offs.shape[0]
    for each in (self, mat2):
        if each.dim() == 3 and each.shape[0] != groups:
            raise RuntimeError("matrix batch sizes have to match")
    batch = [groups, m, row] if both else [m, row]
    made = aten.zeros(batch, dtype=self.dtype, device=self.device)[..., :n]
    limit, begin = self.shape[1] if both else m if self.dim() == 2 else n, 0
    for g, end in enumerate(offs.tolist()):
        if not begin <= end <= limit:
            raise RuntimeError(f"offsets must grow and stay within the matrix, got {end} at {g}")
        if both:
            made[g].copy_(aten.mm(self[:, begin:end], mat2[begin:end]))
        elif self.dim() == 2:
            made[begin:end].copy_(aten.mm(self[begin:end], mat2[g]))
        else:
            made[:, begin:end].copy_(aten.mm(self[g], mat2[:, begin:end]))
        begin = end
    return made


@kernel("_weight_int8pack_mm", flags=CONTIGUOUS)
def weight_int8pack_mm(self: Tensor, mat2: Tensor, scales: Tensor, out: Tensor) -> None:
    aten.copy_(out, aten.mm(self, mat2.to(self.dtype).t()) * scales)
