"""Linear algebra on top of the factorisations: inverse, solves, determinants, products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.warn_once import warn_once
from ..table import S, T, aten, class_name, composite, conj
from .matmul import _check_square
from .norm import _matrix_norm

if TYPE_CHECKING:
    from ..._tensor import Tensor


_DTYPES = "float complex"
_GOES = "and will be removed in a future PyTorch release."


def _adjoint(x):
    return conj(x.transpose(-2, -1))


def _same_batch(a, b) -> tuple:
    """Both with the broadcast batch dimensions."""
    batch = _broadcast(a.shape[:-2], b.shape[:-2])
    return a.expand(batch + list(a.shape[-2:])), b.expand(batch + list(b.shape[-2:]))


def _broadcast(first, second):
    size = max(len(first), len(second))
    one = [1] * (size - len(first)) + list(first)
    two = [1] * (size - len(second)) + list(second)
    result = []
    for i, (a, b) in enumerate(zip(one, two, strict=True)):
        if a != b and 1 not in (a, b):
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {i}"
            )
        result.append(b if a == 1 else a)
    return result


@composite(
    "cholesky(Tensor self, bool upper=False) -> Tensor",
    "Cholesky factor of a positive-definite matrix.",
    bind="function method out",
    raises_by_values=True,
    autocast="float32",
    dtypes=_DTYPES,
    node="CholeskyBackward0",
)
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    warn_once(
        f"torch.cholesky is deprecated in favor of torch.linalg.cholesky {_GOES}\nL = torch.cholesky(A)\nshould be "
        "replaced with\nL = torch.linalg.cholesky(A)\nand\nU = torch.cholesky(A, upper=True)\nshould be replaced with\n"
        "U = torch.linalg.cholesky(A).mH\nThis transform will produce equivalent results for all valid (symmetric positive "
        "definite) inputs."
    )
    factor, info = aten.linalg_cholesky_ex(self, upper=upper)
    aten._linalg_check_errors(info, "cholesky", is_matrix=self.dim() == 2)
    return factor


@composite(
    "linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor",
    "Cholesky factor of a positive-definite matrix.",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
    dtypes=_DTYPES,
)
def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    factor, info = aten.linalg_cholesky_ex(self, upper=upper)
    aten._linalg_check_errors(info, "linalg.cholesky", is_matrix=self.dim() == 2)
    return factor


def _cholesky_inverse_grad(grad, self, upper, result):
    common = result @ (grad + _adjoint(grad)) @ result
    return -(self @ common) if upper else -(common @ self)


@composite(
    "cholesky_inverse(Tensor self, bool upper=False) -> Tensor",
    "Inverse of the matrix whose Cholesky factor is given.",
    bind="function method out",
    batching="body",
    raises_by_values=True,
    autocast="float32",
    explicit=True,
    grad={"self": _cholesky_inverse_grad},
)
def cholesky_inverse(self: Tensor, upper: bool = False) -> Tensor:
    _check_square(self, "cholesky_inverse")
    if self.numel():
        missing = self.diagonal(0, -2, -1).eq(0).to(DTYPES["int32"])
        info = missing.amax(-1) * (missing.argmax(-1) + 1)  # the first zero's place, from 1; 0 for none
        aten._linalg_check_errors(info.to(DTYPES["int32"]), "cholesky_inverse", is_matrix=self.dim() == 2)
    eye = aten.eye(self.size(-1), dtype=self.dtype, device=self.device).expand(self.shape)
    return aten.cholesky_solve(eye, self, upper)


def _cholesky_solve_grad(grad, input2, upper, result, needs) -> tuple:
    for_self = aten.cholesky_solve(grad, input2, upper)
    if not needs[1]:
        return for_self, None
    common = for_self @ _adjoint(result)
    common = common + _adjoint(common)
    return for_self, -(input2 @ common) if upper else -(common @ input2)


@composite(
    "cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor",
    "Solves with a Cholesky factor.",
    bind="function method out",
    batching="body",
    autocast="float32",
    explicit=True,
    grad={("self", "input2"): _cholesky_solve_grad},
)
def cholesky_solve(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    for name, x in (("b", self), ("u", input2)):
        if x.dim() < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.dim()} dimensions instead")
    if input2.size(-1) != input2.size(-2):
        raise RuntimeError(
            f"A must be batches of square matrices, but they are {input2.size(-2)} by {input2.size(-1)} matrices"
        )
    if self.size(-2) != input2.size(-1):
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.size(-1)} by {input2.size(-1)} but each "
            f"b matrix is {self.size(-2)} by {self.size(-1)}"
        )
    if self.dtype != input2.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {class_name(self.dtype)} and A of type "
            f"{class_name(input2.dtype)} instead."
        )
    if upper:
        first = aten.linalg_solve_triangular(_adjoint(input2), self, upper=False)
        return aten.linalg_solve_triangular(input2, first, upper=True)
    first = aten.linalg_solve_triangular(input2, self, upper=False)
    return aten.linalg_solve_triangular(_adjoint(input2), first, upper=True)


@composite(
    "linalg_inv(Tensor A) -> Tensor",
    "Inverse of square matrices.",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
    dtypes=_DTYPES,
)
def linalg_inv(A: Tensor) -> Tensor:
    result, info = aten.linalg_inv_ex(A)
    aten._linalg_check_errors(info, "linalg.inv", is_matrix=A.dim() == 2)
    return result


@composite(
    "inverse(Tensor self) -> Tensor",
    "Inverse of square matrices.",
    bind="function method out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
)
def inverse(self: Tensor) -> Tensor:
    return aten.linalg_inv(self)


# ---- LU ----


@composite(
    "linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    "LU factors in one matrix, and row exchanges.",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
)
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> tuple:
    factors, pivots, info = aten.linalg_lu_factor_ex(A, pivot=pivot)
    aten._linalg_check_errors(info, "torch.linalg.lu_factor", is_matrix=A.dim() == 2)
    return factors, pivots


@composite(
    "lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    "Solves with LU factors.",
    bind="function method out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
    node="LinalgLuSolveBackward0",
)
def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    warn_once(
        f"torch.lu_solve is deprecated in favor of torch.linalg.lu_solve{_GOES}\nNote that torch.linalg.lu_solve has its "
        "arguments reversed.\nX = torch.lu_solve(B, LU, pivots)\nshould be replaced with\n"
        "X = torch.linalg.lu_solve(LU, pivots, B)"
    )
    return aten.linalg_lu_solve(LU_data, LU_pivots, self)


def _lu_unpack_grad(grads, LU_data_sizes):
    to_lower, to_upper = grads[1], grads[2]
    rows, cols = LU_data_sizes[-2:]
    parts = []
    if to_lower is not None:
        parts.append(aten.constant_pad_nd(to_lower.tril(-1), [0, max(cols - rows, 0)]))
    if to_upper is not None:
        parts.append(aten.constant_pad_nd(to_upper.triu(), [0, 0, 0, max(rows - cols, 0)]))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1]


@composite(
    "lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)"
    " -> (Tensor P, Tensor L, Tensor U)",
    "Permutation, lower and upper triangle of LU factors.",
    bind="function out",
    out_dtype="exact",
    batching="stack",
    explicit=True,
    grad={"LU_data": _lu_unpack_grad},
    nondiff=(0,),
)
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple:
    if unpack_pivots and LU_pivots.dtype is not DTYPES["int32"]:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this function "
            "is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    rows, cols = LU_data.shape[-2:]
    k = min(rows, cols)
    nothing = LU_data.new_empty([0])
    lower = upper = permutation = nothing
    if unpack_data:
        factors = LU_data.contiguous()
        lower = factors[..., :, :k].tril(-1)
        lower = lower + aten.eye(rows, k, dtype=LU_data.dtype, device=LU_data.device)
        upper = factors[..., :k, :].triu()
    if unpack_pivots:
        aten._assert_async(
            ((LU_pivots >= 1) & (LU_pivots <= rows)).all(),
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?",
        )
        batch = list(LU_pivots.shape[:-1])
        order = aten.arange(rows, device=LU_pivots.device).expand([*batch, rows]).clone()
        for i in range(LU_pivots.size(-1)):
            other = LU_pivots[..., i : i + 1].long() - 1
            here, there = order[..., i : i + 1].clone(), order.gather(-1, other)
            order[..., i : i + 1] = there
            order.scatter_(-1, other, here)
        columns = aten.zeros([*batch, rows, rows], dtype=LU_data.dtype, device=LU_data.device)
        permutation = columns.scatter(-2, order.unsqueeze(-2), 1.0)
    return permutation, lower, upper


@composite(
    "linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    "A as permutation times lower times upper triangle.",
    bind="linalg out",
    out_dtype="exact",
    node="LinalgLuBackward0",
)
def linalg_lu(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    factors, pivots, _ = aten.linalg_lu_factor_ex(A, pivot=pivot)
    return aten.lu_unpack(factors, pivots)


@composite(
    "linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    "Solves with LU factors.",
    bind="linalg out",
    out_dtype="exact",
    node="LinalgLuSolveBackward0",
)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    _check_square(LU, "torch.linalg.lu_solve")
    if LU.dtype != B.dtype:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
            f"{class_name(LU.dtype)} and B of type {class_name(B.dtype)} instead"
        )
    if pivots.dtype != DTYPES["int32"]:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if pivots.dim() == 0 or pivots.size(-1) != LU.size(-1):
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if not left:
        return _adjoint(aten.linalg_lu_solve(LU, pivots, _adjoint(B), left=True, adjoint=not adjoint))
    factors, right = _same_batch(LU, B)
    exchanges = pivots.expand(list(factors.shape[:-2]) + [pivots.size(-1)])
    return aten._lu_solve(factors, exchanges, right, True, adjoint)


def _solve_grads(grads, A, left, result0) -> tuple:
    slope = grads[0]
    vector = slope.dim() == A.dim() - 1 and slope.dim() >= 1 and slope.shape == A.shape[:-1]
    columns = slope.unsqueeze(-1) if vector else slope
    found = result0.unsqueeze(-1) if vector else result0
    to_b = aten.linalg_solve(_adjoint(A), columns, left=left)
    to_a = -aten.matmul(to_b, _adjoint(found)) if left else -aten.matmul(_adjoint(found), to_b)
    return to_a, to_b.squeeze(-1) if vector else to_b


def _is_vector(A, B):
    """Whether B counts as a batch of vectors: NumPy's rule before version 2, as PyTorch keeps it."""
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and A.shape[:-1] == B.shape)


@composite(
    "_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"
    " -> (Tensor result, Tensor LU, Tensor pivots, Tensor info)",
    "Solution of a linear system, the factors used, and error codes.",
    bind="out",
    out_dtype="exact",
    out_overload="result",
    explicit=True,
    grad={("A", "B"): _solve_grads},
    nondiff=(1, 2, 3),
)
def _linalg_solve_ex(A, B, *, left=True, check_errors=False) -> tuple:
    _check_square(A, "linalg.solve")
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {class_name(A.dtype)} and B of "
            f"type {class_name(B.dtype)} instead"
        )
    vector = _is_vector(A, B)
    right = B.unsqueeze(-1) if vector else B
    wanted = A.size(-1)
    if right.size(-2 if left else -1) != wanted:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} "
            f"({A.size(-2)}x{A.size(-1)} and {right.size(-2)}x{right.size(-1)})"
        )
    if vector and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case "
            "linalg.solve is equivalent to B / A.squeeze(-1)"
        )
    factors, pivots, info = aten.linalg_lu_factor_ex(A)
    if check_errors:
        aten._linalg_check_errors(info, "torch.linalg.solve_ex", is_matrix=A.dim() == 2)
    result = aten.linalg_lu_solve(factors, pivots, right, left=left)
    if vector:
        result = result.squeeze(-1)
        if result.dim() > 1:  # by columns, as matrices are
            result = result.mT.contiguous().mT
    return result, factors, pivots, info


@composite(
    "linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    "X of AX = B (or XA = B).",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
)
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    result, _, _, info = aten._linalg_solve_ex(A, B, left=left)
    aten._linalg_check_errors(info, "torch.linalg.solve", is_matrix=A.dim() == 2)
    return result


@composite(
    "linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor info)",
    "linalg_solve with error codes in place of errors.",
    bind="linalg out",
    out_dtype="exact",
)
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple:
    result, _, _, info = aten._linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return result, info


@composite(
    "linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor",
    "X of AX = B (or XA = B) for a triangular A.",
    bind="linalg out",
    out_dtype="expected scalar type {result} but found {out}",
    raises_by_values=True,
    node="LinalgSolveTriangularBackward0",
)
def linalg_solve_triangular(
    self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    for name, x in (("A", self), ("B", B)):
        if x.dim() < 2:
            raise RuntimeError(f"linalg.solve_triangular: The input tensor {name} must have at least 2 dimensions.")
    triangle, right = _same_batch(self, B)
    return aten._solve_triangular(triangle, right, upper, left, unitriangular)


@composite(
    "triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)"
    " -> (Tensor solution, Tensor cloned_coefficient)",
    "X of AX = B for a triangular A, and a copy of A.",
    bind="function method out",
    out_overload="X X M",
    out_dtype="exact",
    autocast="float32",
    node="TriangularSolveBackward0",
)
def triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple:
    warn_once(
        f"torch.triangular_solve is deprecated in favor of torch.linalg.solve_triangular{_GOES}\n"
        "torch.linalg.solve_triangular has its arguments reversed and does not return a copy of one of the inputs.\n"
        "X = torch.triangular_solve(B, A).solution\nshould be replaced with\nX = torch.linalg.solve_triangular(A, B)."
    )
    matrix = A.mT if transpose else A
    solution = aten.linalg_solve_triangular(matrix, self, upper=upper != transpose, unitriangular=unitriangular)
    return solution, A.mT.clone(memory_format=_C.contiguous_format).mT


# ---- determinants ----


def _check_floating(x, name) -> None:
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {class_name(x.dtype)}")


def _parity(pivots):
    """-1 for an odd number of row exchanges, else 1."""
    place = aten.arange(1, pivots.size(-1) + 1, dtype=pivots.dtype, device=pivots.device)
    return 1 - 2 * ((pivots != place).sum(-1) % 2)


def _det_grad(grads, A, result0):
    if A.size(-1) <= 1 or A.numel() == 0:  # of one element it is that element, of none it is 1
        return grads[0].unsqueeze(-1).unsqueeze(-1).expand(A.shape) if A.numel() else aten.zeros_like(A)
    slope = grads[0] * conj(result0)
    eye = aten.eye(A.size(-1), dtype=A.dtype, device=A.device).expand(A.shape)
    return aten.linalg_solve(_adjoint(A), eye * slope.unsqueeze(-1).unsqueeze(-1))


@composite(
    "_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
    "Determinant and the factors used.",
    bind="out",
    out_dtype="exact",
    out_overload="result",
    batching="matrix",
    explicit=True,
    grad={"A": _det_grad},
    nondiff=(1, 2),
)
def _linalg_det(A) -> tuple:
    _check_square(A, "linalg.det")
    _check_floating(A, "linalg.det")
    factors, pivots, _ = aten.linalg_lu_factor_ex(A)
    return factors.diagonal(0, -2, -1).prod(-1) * _parity(pivots), factors, pivots


@composite("linalg_det(Tensor A) -> Tensor", "Determinant.", bind="linalg out", out_dtype="exact")
def linalg_det(A: Tensor) -> Tensor:
    return aten._linalg_det(A)[0]


@composite("det(Tensor self) -> Tensor", "Determinant.", bind="function method")
def det(self: Tensor) -> Tensor:
    return aten.linalg_det(self)


def _slogdet_grad(grads, A, result0):
    to_sign, to_log = grads[0], grads[1]
    slope = None if to_log is None else to_log.to(A.dtype)
    if A.is_complex() and to_sign is not None:
        turn = aten.imag(conj(to_sign) * result0)
        extra = aten.complex(aten.zeros_like(turn), -turn)
        slope = extra if slope is None else slope + extra
    if slope is None:
        return None
    eye = aten.eye(A.size(-1), dtype=A.dtype, device=A.device).expand(A.shape)
    return aten.linalg_solve(_adjoint(A), eye * slope.unsqueeze(-1).unsqueeze(-1))


@composite(
    "_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
    "Sign and log of the determinant's size, and the factors used.",
    bind="out",
    out_dtype="exact",
    out_overload="sign",
    batching="matrix",
    explicit=True,
    grad={"A": _slogdet_grad},
    nondiff=(2, 3),
)
def _linalg_slogdet(A) -> tuple:
    _check_square(A, "linalg.slogdet")
    _check_floating(A, "linalg.slogdet")
    factors, pivots, _ = aten.linalg_lu_factor_ex(A)
    diagonal = factors.diagonal(0, -2, -1)
    sign = aten.sgn(diagonal).prod(-1) * _parity(pivots)
    return sign, diagonal.abs().log().sum(-1), factors, pivots


@composite(
    "linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    "Sign and log of the determinant's size.",
    bind="linalg out",
    out_dtype="exact",
)
def linalg_slogdet(A: Tensor) -> tuple:
    sign, log, _, _ = aten._linalg_slogdet(A)
    return sign, log


@composite(
    "slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
    "Sign and log of the determinant's size.",
    bind="function method out",
    out_dtype="exact",
)
def slogdet(self: Tensor) -> tuple[Tensor, Tensor]:
    return aten.linalg_slogdet(self)


@composite(
    "logdet(Tensor self) -> Tensor", "Log of the determinant; nan where that is negative.", bind="function method"
)
def logdet(self: Tensor) -> Tensor:
    sign, log = aten.linalg_slogdet(self)
    if sign.is_complex():
        return log + sign.log()
    return aten.where(sign == -1, math.nan, log)


@composite(
    "qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)",
    "Orthonormal columns times an upper triangle.",
    bind="function method out",
    out_overload="Q",
    out_dtype="exact",
    autocast="float32",
)
def qr(self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    warn_once(
        f"torch.qr is deprecated in favor of torch.linalg.qr {_GOES}\nThe boolean parameter 'some' has been replaced with a "
        "string parameter 'mode'.\nQ, R = torch.qr(A, some)\nshould be replaced with\n"
        "Q, R = torch.linalg.qr(A, 'reduced' if some else 'complete')"
    )
    return aten.linalg_qr(self, "reduced" if some else "complete")


# ---- products ----


def _matrix_exp_grad(grad, self):
    """The upper right block of the exponential of [[self^H, grad], [0, self^H]]."""
    n, adjoint = self.size(-1), _adjoint(self)
    upper, lower = aten.cat([adjoint, grad], -1), aten.cat([aten.zeros_like(grad), adjoint], -1)
    return aten.linalg_matrix_exp(aten.cat([upper, lower], -2))[..., :n, n:]


@composite(
    "linalg_matrix_exp(Tensor self) -> Tensor",
    "Exponential of square matrices: scaling, Taylor polynomial, squaring.",
    bind="linalg generated_out",
    batching="matrix",
    explicit=True,
    grad={"self": _matrix_exp_grad},
)
def linalg_matrix_exp(self: Tensor) -> Tensor:
    _check_square(self, "linalg.matrix_exp")
    if self.numel() == 0 or self.is_meta:
        return self.clone()
    size = float(_matrix_norm(self.detach(), 1, (-2, -1), False, None).max())
    halvings = max(0, math.ceil(math.log2(size)) + 2) if size > 0 and math.isfinite(size) else 0
    x = self * (0.5**halvings)
    eye = aten.eye(self.size(-1), dtype=self.dtype, device=self.device).expand(self.shape)
    result = eye
    for n in range(18, 0, -1):
        result = eye + aten.matmul(x, result) * (1.0 / n)
    for _ in range(halvings):
        result = aten.matmul(result, result)
    return result


@composite("matrix_exp(Tensor self) -> Tensor", "Exponential of square matrices.", bind="function method")
def matrix_exp(self: Tensor) -> Tensor:
    return aten.linalg_matrix_exp(self)


@composite(
    "linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",
    "Powers of the items along a new last dimension.",
    bind="linalg",
)
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    if x.dim() == 0:
        x = x.unsqueeze(0)
    count = x.size(-1) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = aten.cumprod(x.unsqueeze(-1).expand([*x.shape, count - 1]), -1)
    return aten.cat([aten.ones_like(powers[..., :1]), powers], -1)


def _cross(a, b, dim):
    def turned(x: Tensor, by: int) -> Tensor:
        return aten.roll(x, [-by], [dim])

    return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1)


@composite(
    "linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    "Cross product of vectors of three items.",
    bind="linalg out",
    out_dtype="exact",
    batching="body",
    explicit=True,
    grad={
        "self": lambda grad, other, dim: _cross(conj(other), grad, dim),
        "other": lambda grad, self, dim: _cross(grad, conj(self), dim),
    },
    samples=[S(T(4, 3), T(4, 3)), S(T(3, 4), T(3, 4), dim=0)],
)
def linalg_cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if self.size(dim) != 3 or other.size(dim) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.size(dim)} and {other.size(dim)}"
        )
    if self.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {class_name(self.dtype)} but found {class_name(other.dtype)}")
    return _cross(self, other, dim)


@composite(
    "cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    "Cross product; without dim along the first dimension of three items.",
    bind="function method out",
    out_dtype="exact",
    samples=[S(T(3, 4), T(3, 4))],
)
def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        warn_once(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release."
        )
        dim = next((d for d in range(self.dim()) if self.size(d) == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return aten.linalg_cross(self, other, dim=dim)


@composite(
    "linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    "Sum of products along one dimension, the first conjugated.",
    bind="linalg out",
    out_dtype="linalg.vecdot: Expected out of dtype{result} but found {out}",
    autocast="lower",
    samples=[S(T(2, 3), T(2, 3)), S(T(2, 3), T(2, 3), dim=0)],
)
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    return (conj(x) * y).sum(dim)


@composite("linalg_matmul(Tensor self, Tensor other) -> Tensor", "Matrix product.", bind="linalg out")
def linalg_matmul(self: Tensor, other: Tensor) -> Tensor:
    return aten.matmul(self, other)


@composite(
    "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    "Diagonal of matrices.",
    bind="linalg",
)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    return aten.diagonal(A, offset, dim1, dim2)


@composite(
    "linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    "Inverse of the linear map that a tensor's first `ind` dimensions index.",
    bind="linalg out",
    raises_by_values=True,
    autocast="float32",
)
def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    head, tail = list(self.shape[:ind]), list(self.shape[ind:])
    rows, cols = math.prod(head), math.prod(tail)
    if rows != cols:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), "
            f"but got {cols} != {rows}"
        )
    return aten.linalg_inv(self.reshape(rows, cols)).reshape(tail + head)


@composite(
    "linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    "X of tensordot(self, X) = other.",
    bind="linalg out",
    raises_by_values=True,
    autocast="float32",
)
def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    if dims is not None:
        moved = [d % self.dim() for d in dims]
        self = self.permute([d for d in range(self.dim()) if d not in moved] + moved)
    tail = list(self.shape[other.dim() :])
    rows = math.prod(self.shape[: other.dim()])
    if rows != math.prod(tail):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {math.prod(tail)} != {rows}"
        )
    return aten.linalg_solve(self.reshape(rows, rows), other.reshape(-1)).reshape(tail)
