# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence as _Sequence
from typing import Any, overload
from ._C import Generator as _Generator, device as _device, dtype as _dtype, layout as _layout
from ._C import memory_format as _memory_format
from ._core.storage import UntypedStorage as _UntypedStorage
from ._core.stream import Stream as _Stream
from . import return_types
from ._tensor import Tensor
from ._C import _LinAlgError as LinAlgError

_Number = _int | _float | _bool | _complex

def cholesky(input: Tensor, *, upper: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Cholesky factor of a positive-definite matrix."""
def cholesky_ex(input: Tensor, *, upper: _bool = ..., check_errors: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_cholesky_ex:
    """Cholesky factor and error codes."""
@overload
def cond(input: Tensor, p: _Number | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Condition number."""
@overload
def cond(input: Tensor, p: str, *, out: Tensor | None = ...) -> Tensor:
    """Condition number, norm by name."""
def cross(input: Tensor, other: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Cross product of vectors of three items."""
def det(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Determinant."""
def diagonal(A: Tensor, *, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Diagonal of matrices."""
def eig(input: Tensor, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_eig:
    """Eigenvalues and vectors of square matrices, complex."""
def eigh(input: Tensor, UPLO: str = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_eigh:
    """Eigenvalues (rising) and vectors of symmetric or Hermitian matrices."""
def eigvals(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Eigenvalues of square matrices."""
def eigvalsh(input: Tensor, UPLO: str = ..., *, out: Tensor | None = ...) -> Tensor:
    """Eigenvalues of symmetric or Hermitian matrices."""
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """First columns of a product of reflectors."""
def inv(A: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse of square matrices."""
def inv_ex(A: Tensor, *, check_errors: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_inv_ex:
    """Inverse and error codes."""
def ldl_factor(input: Tensor, *, hermitian: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_ldl_factor:
    """Factors of symmetric or Hermitian matrices, and exchanges."""
def ldl_factor_ex(input: Tensor, *, hermitian: _bool = ..., check_errors: _bool = ..., out: tuple[Tensor, Tensor, Tensor] | None = ...) -> return_types.linalg_ldl_factor_ex:
    """Factors of symmetric or Hermitian matrices, exchanges, and error codes."""
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Solves with LDL factors."""
def lstsq(input: Tensor, b: Tensor, rcond: _float | None = ..., *, driver: str | None = ..., out: tuple[Tensor, Tensor, Tensor, Tensor] | None = ...) -> return_types.linalg_lstsq:
    """Least squares."""
def lu(A: Tensor, *, pivot: _bool = ..., out: tuple[Tensor, Tensor, Tensor] | None = ...) -> return_types.linalg_lu:
    """A as permutation times lower times upper triangle."""
def lu_factor(A: Tensor, *, pivot: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_lu_factor:
    """LU factors in one matrix, and row exchanges."""
def lu_factor_ex(A: Tensor, *, pivot: _bool = ..., check_errors: _bool = ..., out: tuple[Tensor, Tensor, Tensor] | None = ...) -> return_types.linalg_lu_factor_ex:
    """LU factors in one matrix, row exchanges, and error codes."""
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: _bool = ..., adjoint: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Solves with LU factors."""
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Matrix product."""
def matrix_exp(input: Tensor) -> Tensor:
    """Exponential of square matrices: scaling, Taylor polynomial, squaring."""
@overload
def matrix_norm(input: Tensor, ord: str = ..., dim: _Sequence[_int] = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norm of matrices, by a name."""
@overload
def matrix_norm(input: Tensor, ord: _Number, dim: _Sequence[_int] = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norm of matrices, by a number."""
@overload
def matrix_power(input: Tensor, n: _int) -> Tensor:
    """Integer power of square matrices."""
@overload
def matrix_power(input: Tensor, n: _int, *, out: Tensor) -> Tensor:
    """`linalg.matrix_power` into `out`, of the same dtype but where the power is none, one, or squared more than once."""
@overload
def matrix_rank(input: Tensor, tol: Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Number of singular values above a tolerance, one for each matrix."""
@overload
def matrix_rank(input: Tensor, tol: _float, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Number of singular values above a tolerance."""
@overload
def matrix_rank(input: Tensor, *, atol: _float | None = ..., rtol: _float | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Number of singular values above the tolerances."""
@overload
def matrix_rank(input: Tensor, *, atol: Tensor | None = ..., rtol: Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Number of singular values above a tolerance for each matrix."""
def multi_dot(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """Product of several matrices in the cheapest order; the first and last may be vectors."""
@overload
def norm(input: Tensor, ord: _Number | None = ..., dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norm of vectors or matrices."""
@overload
def norm(input: Tensor, ord: str, dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norm of matrices by name."""
@overload
def pinv(input: Tensor, rcond: Tensor, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Pseudo-inverse with a relative tolerance for each matrix."""
@overload
def pinv(input: Tensor, rcond: _float, hermitian: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Pseudo-inverse."""
@overload
def pinv(input: Tensor, *, atol: _float | None = ..., rtol: _float | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Pseudo-inverse with tolerances."""
@overload
def pinv(input: Tensor, *, atol: Tensor | None = ..., rtol: Tensor | None = ..., hermitian: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Pseudo-inverse with a tolerance for each matrix."""
def qr(A: Tensor, mode: str = ..., *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_qr:
    """Orthonormal columns times an upper triangle."""
def slogdet(A: Tensor, *, out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_slogdet:
    """Sign and log of the determinant's size."""
def solve(A: Tensor, B: Tensor, *, left: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """X of AX = B (or XA = B)."""
def solve_ex(A: Tensor, B: Tensor, *, left: _bool = ..., check_errors: _bool = ..., out: tuple[Tensor, Tensor] | None = ...) -> return_types.linalg_solve_ex:
    """linalg_solve with error codes in place of errors."""
def solve_triangular(input: Tensor, B: Tensor, *, upper: _bool, left: _bool = ..., unitriangular: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """X of AX = B (or XA = B) for a triangular A."""
def svd(A: Tensor, full_matrices: _bool = ..., *, driver: str | None = ..., out: tuple[Tensor, Tensor, Tensor] | None = ...) -> return_types.linalg_svd:
    """Singular values and vectors."""
def svdvals(A: Tensor, *, driver: str | None = ..., out: Tensor | None = ...) -> Tensor:
    """Singular values, falling."""
def tensorinv(input: Tensor, ind: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """Inverse of the linear map that a tensor's first `ind` dimensions index."""
def tensorsolve(input: Tensor, other: Tensor, dims: _Sequence[_int] | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """X of tensordot(self, X) = other."""
def vander(x: Tensor, *, N: _int | None = ...) -> Tensor:
    """Powers of the items along a new last dimension."""
def vecdot(x: Tensor, y: Tensor, *, dim: _int = ..., out: Tensor | None = ...) -> Tensor:
    """Sum of products along one dimension, the first conjugated."""
def vector_norm(input: Tensor, ord: _Number = ..., dim: _Sequence[_int] | _int | None = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Tensor | None = ...) -> Tensor:
    """The vector norm of order `ord` along the dimensions `dim`."""
