"""Products of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ...common.matmul import matmul_backward
from ..cublas import multiply, takes
from ..cublaslt import BIAS, BIAS_GRADIENT, product
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_PRODUCT = Source("matmul.cuh", "product")


def _of_integers(a: Tensor, b: Tensor, out: Tensor) -> None:
    batch, m, n = out.shape
    arguments = pack(m, n, a.shape[2], batch, a, b, out, list(a.stride()), list(b.stride()), list(out.stride()))
    grid = (blocks(n, 16), blocks(m, 16), min(batch, 65535))
    _PRODUCT.launch(out.device.index, (("T", element(out.dtype)),), grid, (16, 16), arguments, shared=2 * 16 * 16 * 8)


def _plain(tensor: Tensor) -> Tensor:
    """The numbers themselves, where a tensor shows conjugates or negatives of what is in memory."""
    return tensor.resolve_conj().resolve_neg() if tensor.is_complex() or tensor.is_neg() else tensor


def batched(a: Tensor, b: Tensor, out: Tensor, alpha: Any = 1, beta: Any = 0) -> None:
    """out = alpha * a @ b + beta * out of batches of matrices, with what `out` holds read only if beta is not 0."""
    if not out.numel():
        return
    if not a.shape[2]:
        aten.zero_(out) if beta == 0 else aten.mul_(out, beta)
        return
    a, b = _plain(a), _plain(b)
    if takes(out.dtype):
        multiply(a, b, out, alpha, beta)
    elif alpha == 1 and beta == 0:
        _of_integers(a, b, out)
    else:
        product = aten.empty(out.shape, dtype=out.dtype, device=out.device)
        _of_integers(a, b, product)
        product = product if alpha == 1 else aten.mul(product, alpha)
        aten.copy_(out, product if beta == 0 else aten.add(aten.mul(out, beta), product))


@kernel("mm", flags=CONTIGUOUS)
def mm(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    if takes(out.dtype) and not out.is_complex() and out.numel() and self.shape[1]:
        multiply(_plain(self), _plain(mat2), out)
    else:
        batched(self.unsqueeze(0), mat2.unsqueeze(0), out.unsqueeze(0))


@kernel("bmm", flags=CONTIGUOUS)
def bmm(self: Tensor, mat2: Tensor, out: Tensor) -> None:
    batched(self, mat2, out)


def _factors(out: Tensor, beta: Any, alpha: Any) -> tuple[Any, Any]:
    """The factors as the numbers of the result: whole ones for integers, as PyTorch's on the CPU."""
    return (beta, alpha) if out.is_floating_point() or out.is_complex() else (int(beta), int(alpha))


def _added(self: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any, out: Tensor) -> None:
    beta, alpha = _factors(out, beta, alpha)
    if beta != 0:
        aten.copy_(out, self)  # broadcast
    batched(a, b, out, alpha, beta)


@kernel("addmm", flags=CONTIGUOUS)
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any, alpha: Any, out: Tensor) -> None:
    _added(self, mat1.unsqueeze(0), mat2.unsqueeze(0), beta, alpha, out.unsqueeze(0))


@kernel("baddbmm", flags=CONTIGUOUS)
def baddbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any, out: Tensor) -> None:
    _added(self, batch1, batch2, beta, alpha, out)


@kernel("addbmm", flags=CONTIGUOUS)
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any, out: Tensor) -> None:
    beta, alpha = _factors(out, beta, alpha)
    product = aten.mul(aten.bmm(batch1, batch2).sum(0, dtype=out.dtype), alpha)
    aten.copy_(out, product if beta == 0 else aten.add(aten.mul(self, beta), product))


@kernel("mv", flags=CONTIGUOUS)
def mv(self: Tensor, vec: Tensor, out: Tensor) -> None:
    batched(self.unsqueeze(0), vec.view(1, -1, 1) if vec.is_contiguous() else vec.reshape(1, -1, 1), out.view(1, -1, 1))


@kernel("addmv", flags=CONTIGUOUS)
def addmv(self: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any, out: Tensor) -> None:
    rows = self.reshape(1, -1, 1) if self.dim() else self
    _added(rows, mat.unsqueeze(0), vec.reshape(1, -1, 1), beta, alpha, out.view(1, -1, 1))


@kernel("dot", flags=CONTIGUOUS)
def dot(self: Tensor, tensor: Tensor, out: Tensor) -> None:
    batched(self.reshape(1, 1, -1), tensor.reshape(1, -1, 1), out.view(1, 1, 1))


@kernel("vdot", flags=CONTIGUOUS)
def vdot(self: Tensor, other: Tensor, out: Tensor) -> None:
    dot(self.conj() if self.is_complex() else self, other, out)


def _rows(tensor: Tensor) -> Tensor:
    """A tensor as one matrix of its last dimension's rows."""
    return tensor.reshape(1, -1, tensor.shape[-1])


def _followed(a: Tensor, b: Tensor, out: Tensor, epilogue: int, bias: Tensor) -> bool:
    """Whether a product and what follows it were done in one call; else nothing was."""
    if not out.numel() or not a.shape[1] or out.is_complex() or not bias.is_contiguous():
        return False
    return product(_plain(a), _plain(b), out, epilogue, bias)


@kernel("linear", flags=CONTIGUOUS)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor) -> None:
    matrix = weight if weight.dim() == 2 else weight.unsqueeze(0)
    to = out.view(1, -1, matrix.shape[0])
    if bias is not None:
        if _followed(_rows(input)[0], matrix.t(), to[0], BIAS, bias):
            return
        aten.copy_(to, bias)
    batched(_rows(input), matrix.t().unsqueeze(0), to, 1, 0 if bias is None else 1)


@kernel("linear_backward", flags=CONTIGUOUS)
def linear_backward(
    self: Tensor,
    grad_output: Tensor,
    weight: Tensor,
    output_mask: Sequence[bool],
    *gradients: Tensor | None,
) -> None:
    grad_self, grad_weight, grad_bias = gradients
    matrix = weight if weight.dim() == 2 else weight.unsqueeze(0)
    upstream = grad_output.reshape(1, -1, matrix.shape[0])
    if grad_self is not None:
        batched(upstream, matrix.conj().unsqueeze(0), grad_self.view(1, -1, matrix.shape[1]))
    if grad_weight is not None and grad_bias is not None:
        transposed, out = upstream[0].t(), grad_weight.view(*matrix.shape)
        if _followed(transposed, _rows(self)[0], out, BIAS_GRADIENT, grad_bias):
            return
    if grad_weight is not None:
        batched(upstream.transpose(1, 2), _rows(self.conj()), grad_weight.view(1, *matrix.shape))
    if grad_bias is not None:
        aten.copy_(grad_bias, upstream.sum((0, 1)).view(grad_bias.shape))


def _expanded(tensor: Tensor, batch: Sequence[int]) -> Tensor:
    """Matrices with the given batch dimensions in front, as a three-dimensional tensor."""
    wide = tensor.expand(*batch, *tensor.shape[-2:])
    return wide.reshape(-1, *tensor.shape[-2:])


@kernel("matmul", flags=CONTIGUOUS)
def matmul(self: Tensor, other: Tensor, out: Tensor) -> None:
    if not (self.numel() and other.numel()):
        out.zero_()
        return
    a = self.unsqueeze(0) if self.dim() == 1 else self
    b = other.unsqueeze(1) if other.dim() == 1 else other
    m, n = a.shape[-2], b.shape[-1]
    if b.dim() == 2:  # one matrix for all rows
        batched(a.reshape(1, -1, a.shape[-1]), b.unsqueeze(0), out.view(1, -1, n))
        return
    batch = list(out.shape[: out.dim() - (self.dim() > 1) - (other.dim() > 1)])
    batched(_expanded(a, batch), _expanded(b, batch), out.view(-1, m, n))


kernel("matmul_backward", flags=CONTIGUOUS)(matmul_backward)
