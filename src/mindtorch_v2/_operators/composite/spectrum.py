"""Eigenvalues and singular values, and what is made of them: pseudo-inverse, rank, least squares, condition numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ... import _C
from ..table import aten, class_name, composite, conj
from .linalg import _adjoint
from .matmul import _check_square
from .norm import _matrix_norm

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    'linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
    "Eigenvalues (rising) and vectors of symmetric or Hermitian matrices.",
    bind="linalg out",
    out_overload="eigvals eigvals eigvecs",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
)
def linalg_eigh(self: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    return aten._linalg_eigh(self, UPLO, True)


def _wants_vectors(matrix) -> bool:
    """Whether the derivatives of values are asked for: their formulas read the vectors."""
    return matrix.requires_grad or _C._has_tangent(matrix)


@composite(
    'linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor',
    "Eigenvalues of symmetric or Hermitian matrices.",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
)
def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    return aten._linalg_eigh(self, UPLO, _wants_vectors(self))[0]


@composite(
    "linalg_eigvals(Tensor self) -> Tensor",
    "Eigenvalues of square matrices.",
    bind="linalg out",
    raises_by_values=True,
    autocast="float32",
)
def linalg_eigvals(self: Tensor) -> Tensor:
    return aten.linalg_eig(self)[0]


@composite(
    "linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    "Singular values and vectors.",
    bind="linalg out",
    out_overload="U",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    return aten._linalg_svd(A, full_matrices, True, driver=driver)


@composite(
    "linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor",
    "Singular values, falling.",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
    autocast="float32",
)
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    return aten._linalg_svd(A, False, _wants_vectors(A), driver=driver)[1]


@composite(
    "svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    "Singular values and vectors; V itself, not its adjoint.",
    bind="function method out",
    out_overload="U",
    out_dtype="exact",
    autocast="float32",
)
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> tuple:
    if not compute_uv:
        rows, cols = self.shape[-2:]
        batch = list(self.shape[:-2])
        values = aten._linalg_svd(self, False, False)[1]
        return self.new_zeros([*batch, rows, rows]), values, self.new_zeros([*batch, cols, cols])
    u, s, vh = aten._linalg_svd(self, not some, True)
    return u, s, _adjoint(vh)


def _threshold(x, values, atol, rtol):
    """Below what a singular value counts as zero: atol, or rtol times the largest."""
    if rtol is None:
        given = atol is not None and (not isinstance(atol, float) or atol > 0.0)
        eps = 2.220446049250313e-16 if str(values.dtype).endswith("64") else 1.1920928955078125e-07
        rtol = 0.0 if given else eps * max(x.size(-2), x.size(-1))
    largest = values.amax(-1, True) * (rtol.unsqueeze(-1) if hasattr(rtol, "unsqueeze") else rtol)
    if atol is None:
        return largest
    if hasattr(atol, "unsqueeze"):
        return aten.maximum(largest, atol.unsqueeze(-1))
    return largest.clamp(min=atol)


def _pseudo_inverse_grad(grad, self, result):
    """Golub and Pereyra's derivative, which takes the rank to stay as it is."""
    back, slope = _adjoint(result), _adjoint(grad)
    if self.size(-2) <= self.size(-1):
        first = aten.matmul(slope, result)
        second = aten.matmul(first, back)
        rest = slope - aten.matmul(first, self)
        return (
            second
            - _adjoint(aten.matmul(result, first))
            - aten.matmul(aten.matmul(self, result), second)
            + aten.matmul(aten.matmul(back, result), rest)
        )
    first = aten.matmul(result, slope)
    second = aten.matmul(back, first)
    rest = slope - aten.matmul(self, first)
    return (
        second
        - _adjoint(aten.matmul(first, result))
        - aten.matmul(aten.matmul(second, result), self)
        + aten.matmul(aten.matmul(rest, result), back)
    )


def _pseudo_inverse(self, atol, rtol, hermitian):
    if self.numel() == 0:
        return self.new_empty([*self.shape[:-2], self.size(-1), self.size(-2)])
    if hermitian:
        values, vectors = aten.linalg_eigh(self)
        sizes = values.abs()
        small = sizes <= _threshold(self, sizes, atol, rtol)
        inverse = aten.where(small, 0.0, 1.0 / values.masked_fill(small, 1.0))
        return aten.matmul(vectors * inverse.unsqueeze(-2).to(self.dtype), _adjoint(vectors))
    u, s, vh = aten.linalg_svd(self, False)
    small = s <= _threshold(self, s, atol, rtol)
    inverse = aten.where(small, 0.0, 1.0 / s.masked_fill(small, 1.0))
    return aten.matmul(_adjoint(vh) * inverse.unsqueeze(-2).to(self.dtype), _adjoint(u))


@composite(
    "linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    "Pseudo-inverse.",
    bind="linalg out",
    batching="matrix",
    explicit=True,
    grad={"self": _pseudo_inverse_grad},
)
def linalg_pinv(self: Tensor, rcond: float, hermitian: bool = False) -> Tensor:
    return _pseudo_inverse(self, 0.0, rcond, hermitian)


@composite(
    "linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor",
    "Pseudo-inverse with tolerances.",
    bind="linalg out",
    batching="body",
    explicit=True,
    grad={"self": _pseudo_inverse_grad},
    node="LinalgPinvBackward0",
)
def linalg_pinv_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    return _pseudo_inverse(self, atol, rtol, hermitian)


@composite(
    "linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor",
    "Pseudo-inverse with a tolerance for each matrix.",
    bind="linalg out",
    batching="body",
    explicit=True,
    grad={"self": _pseudo_inverse_grad},
    node="LinalgPinvBackward0",
)
def linalg_pinv_tensor(
    self: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    return _pseudo_inverse(self, atol, rtol, hermitian)


@composite(
    "linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    "Pseudo-inverse with a relative tolerance for each matrix.",
    bind="linalg out",
    out_overload="out_rcond_tensor",
)
def linalg_pinv_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
    return aten.linalg_pinv(self, atol=aten.zeros_like(rcond), rtol=rcond, hermitian=hermitian)


@composite(
    "pinverse(Tensor self, float rcond=1e-15) -> Tensor", "Pseudo-inverse.", bind="function method", autocast="float32"
)
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    return aten.linalg_pinv(self, rcond)


def _rank(self, atol, rtol, hermitian):
    if self.numel() == 0:
        return aten.zeros(self.shape[:-2], dtype=aten.empty([0], device=self.device).long().dtype, device=self.device)
    sizes = aten.linalg_eigvalsh(self).abs() if hermitian else aten.linalg_svdvals(self)
    return (sizes > _threshold(self, sizes, atol, rtol)).sum(-1)


@composite(
    "linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor",
    "Number of singular values above a tolerance.",
    bind="linalg out",
    autocast="float32",
)
def linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
    return _rank(self, tol, 0.0, hermitian)


@composite(
    "linalg_matrix_rank.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False)"
    " -> Tensor",
    "Number of singular values above the tolerances.",
    bind="linalg out",
    autocast="float32",
)
def linalg_matrix_rank_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    return _rank(self, atol, rtol, hermitian)


@composite(
    "linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False)"
    " -> Tensor",
    "Number of singular values above a tolerance for each matrix.",
    bind="linalg out",
    autocast="float32",
)
def linalg_matrix_rank_tensor(
    input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    return _rank(input, atol, rtol, hermitian)


@composite(
    "linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    "Number of singular values above a tolerance, one for each matrix.",
    bind="linalg out",
    out_overload="out_tol_tensor",
    autocast="float32",
)
def linalg_matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
    return _rank(input, tol, aten.zeros_like(tol), hermitian)


def _relative_cutoff(rcond, driver, like):
    """Which share of the largest singular value counts as zero: LAPACK's gelsd takes what is not between 0 and 1 for its epsilon."""
    epsilon = 2.220446049250313e-16 if str(like.dtype).endswith("64") else 1.1920928955078125e-07
    if rcond is not None and (rcond < 0.0 or (driver == "gelsd" and (rcond == 0.0 or rcond >= 1.0))):
        return epsilon / 2
    return rcond


def _check_lstsq(self, b):
    """Whether `b` holds vectors, not matrices; RuntimeError unless they fit the matrices."""
    if self.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if not 0 <= self.dim() - b.dim() <= 1:
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    vector = b.dim() == 1 or b.shape == self.shape[:-1]
    if self.size(-2) != b.size(-1 if vector else -2):
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({-1 if vector else -2})")
    if self.dtype != b.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype "
            f"{class_name(self.dtype)} and other's dtype {class_name(b.dtype)}"
        )
    return vector


@composite(
    "linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    "Least squares.",
    bind="linalg out",
    tags="dynamic_output_shape",
    raises_by_values=True,
    autocast="float32",
    node="LinalgLstsqBackward0",
)
def linalg_lstsq(self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None) -> tuple:
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    vector = _check_lstsq(self, b)
    rows, cols = self.shape[-2:]
    right = b.unsqueeze(-1) if vector else b
    values = aten.linalg_svdvals(self.detach())
    rcond = _relative_cutoff(rcond, driver, values)
    solution = aten.matmul(aten.linalg_pinv(self, atol=None, rtol=rcond), right)
    solution = solution.mT.contiguous().mT
    rank = _rank(self.detach(), None, rcond, False)
    nothing = values.new_empty([0])
    residuals = aten.real(solution).flatten()[:0]  # has gradients where the solution has
    if driver not in (None, "gelsy") and rows > cols and bool((rank == cols).all()):
        rest = aten.matmul(self, solution) - right
        residuals = (rest * conj(rest)).sum(-2)
        residuals = aten.real(residuals) if residuals.is_complex() else residuals
    return (
        solution.squeeze(-1) if vector else solution,
        residuals,
        rank if driver != "gels" else aten.empty([0], dtype=rank.dtype, device=self.device),
        values if driver in ("gelsd", "gelss") else nothing,
    )


# ---- condition ----


def _condition(self, p):
    if p is not None and (p not in ("fro", "nuc") if isinstance(p, str) else abs(p) not in (1, 2, math.inf)):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if self.numel() == 0:
        return aten.real(self.new_zeros(self.shape[:-2])) if self.is_complex() else self.new_zeros(self.shape[:-2])
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        values = aten.linalg_svdvals(self)
        if p == -2:
            return values.amin(-1) / values.amax(-1)
        return values.amax(-1) / values.amin(-1)
    _check_square(self, "linalg.cond")
    inverse, info = aten.linalg_inv_ex(self)
    if p == "nuc":  # singular values want numbers: there is no inverse to take them from
        inverse = inverse.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1), 0.0)
    found = _matrix_norm(self, p, (-2, -1), False, None) * _matrix_norm(inverse, p, (-2, -1), False, None)
    return found.masked_fill(info > 0, math.inf)


@composite(
    "linalg_cond(Tensor self, Scalar? p=None) -> Tensor", "Condition number.", bind="linalg out", autocast="float32"
)
def linalg_cond(self: Tensor, p: Number | None = None) -> Tensor:
    return _condition(self, p)


@composite(
    "linalg_cond.p_str(Tensor self, str p) -> Tensor",
    "Condition number, norm by name.",
    bind="linalg out",
    autocast="float32",
)
def linalg_cond_str(self: Tensor, p: str) -> Tensor:
    return _condition(self, p)
