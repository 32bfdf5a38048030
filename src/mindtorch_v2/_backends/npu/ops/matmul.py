"""Products of matrices. `torch.npu.matmul.allow_hf32` decides whether float32 may be multiplied in a shorter format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ...common.matmul import matmul_backward
from .. import settings
from ..errors import NPUError
from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


_cube = settings.matmul.cube_math_type
_INVALID = 161002  # what an operator returns for operands that it does not take
_highest = {"rank": 8}  # of operands that aclnnMatmul has not rejected


def _product(a, b, out) -> None:
    call("aclnnMatmul", a, b, out, _cube())


def _batch(operand, rank, i):
    """An operand's part for an index of the first batch dimension; all of it if it has no such dimension."""
    return operand if operand.dim() < rank else operand.select(0, min(i, operand.shape[0] - 1))


@kernel("matmul")
def matmul(self: Tensor, other: Tensor, out: Tensor) -> None:
    rank = max(self.dim(), other.dim())
    if rank <= _highest["rank"]:
        try:
            _product(self, other, out)
            return
        except NPUError as error:
            if error.code != _INVALID or rank <= 2:
                raise
    for i in range(out.shape[0]):  # for each index of the first batch dimension, over which both are broadcast
        matmul(_batch(self, rank, i), _batch(other, rank, i), out.select(0, i))
    _highest["rank"] = min(_highest["rank"], rank - 1)  # it was the rank: the parts were taken


def _rows(tensor):
    """A tensor as a matrix of its last dimension's rows."""
    return tensor if tensor.dim() == 2 else tensor.reshape(-1, tensor.shape[-1])


@kernel("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor, out: Tensor) -> None:
    if weight.dim() == 1:  # one output without a dimension of its own
        _product(input, weight, out)
        if bias is not None:
            call("aclnnAdd", out, bias, 1, out)
        return
    rows, to = _rows(input), _rows(out)
    if bias is None:
        call("aclnnMm", rows, weight.t(), to, _cube())
    else:
        call("aclnnAddmm", bias, rows, weight.t(), 1, 1, to, _cube())
    if to.data_ptr() != out.data_ptr():  # rows of an output in another order are a copy
        call("aclnnInplaceCopy", out, to.view(out.shape))


@kernel("linear_backward")
def linear_backward(
    self: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    output_mask: Sequence[bool],
    grad_self: Tensor | None,
    grad_weight: Tensor | None,
    grad_bias: Tensor | None,
) -> None:
    rows = _rows(self)
    if weight.dim() == 1:  # one output without a dimension of its own
        upstream, weight = grad_output.reshape(-1, 1), weight.unsqueeze(0)
        grad_weight = grad_weight if grad_weight is None else grad_weight.unsqueeze(0)
        grad_bias = grad_bias if grad_bias is None else grad_bias.reshape(1)
    else:
        upstream = _rows(grad_output)
    if grad_self is not None:
        call("aclnnInplaceCopy", grad_self, aten.mm(upstream, weight).view(grad_self.shape))
    if grad_weight is not None:
        call("aclnnMm", upstream.t(), rows, grad_weight, _cube())
    if grad_bias is not None:
        call("aclnnReduceSum", upstream, (0,), False, grad_bias.dtype, grad_bias)


kernel("matmul_backward")(matmul_backward)


@kernel("addmv")
def addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: int, out: Tensor) -> None:
    call("aclnnAddmm", self.unsqueeze(-1), mat, vec.unsqueeze(1), beta, alpha, out.unsqueeze(-1), _cube())


aclnn("addmm", "aclnnAddmm", "self mat1 mat2 beta alpha out matmul_cube")
aclnn("baddbmm", "aclnnBaddbmm", "self batch1 batch2 beta alpha out matmul_cube")
aclnn("bmm", "aclnnBatchMatMul", "self mat2 out matmul_cube")
aclnn("dot", "aclnnDot")
aclnn("mm", "aclnnMm", "self mat2 out matmul_cube")
aclnn("mv", "aclnnMv", "self vec out matmul_cube")


@kernel("_grouped_mm")
def grouped_mm(
    self: Tensor, mat2: Tensor, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    out_dtype = self.dtype if out_dtype is None else out_dtype
    if offs is None:
        return aten.bmm(self, mat2).to(out_dtype)
    ends = offs.tolist()
    groups = list(zip([0, *ends], ends))
    if self.dim() == 2 and mat2.dim() == 2:  # the summed dimension is cut
        return aten.stack([self[:, a:b] @ mat2[a:b] for a, b in groups]).to(out_dtype)
    rows = self.dim() == 2
    out = self.new_zeros([self.shape[-2], mat2.shape[-1]], dtype=out_dtype)
    for i, (a, b) in enumerate(groups):
        if b > a and rows:
            out[a:b] = self[a:b] @ mat2[i]
        elif b > a:
            out[:, a:b] = self[i] @ mat2[:, a:b]
    return out


@kernel("_weighted_row_sums")
def weighted_row_sums(starts: Tensor, columns: Tensor, values: Tensor, mat: Tensor) -> Tensor:
    rows = aten.repeat_interleave(starts.diff())
    products = values.unsqueeze(1) * mat.index_select(0, columns)
    return mat.new_zeros((starts.shape[0] - 1, mat.shape[1])).index_add_(0, rows, products)


@kernel("vdot")
def vdot(self: Tensor, other: Tensor, out: Tensor) -> None:
    call("aclnnInplaceCopy", out, aten.dot(self, other))


@kernel("addbmm")
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: float, alpha: float, out: Tensor) -> None:
    product = aten.bmm(batch1, batch2).sum(0) * alpha
    call("aclnnInplaceCopy", out, product if beta == 0 else self * beta + product)
