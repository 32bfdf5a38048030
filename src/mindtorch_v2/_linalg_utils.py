"""Products and bases that `torch.lobpcg` and its kin are written with, and functions that PyTorch removed in version 1.9."""

from __future__ import annotations

from typing import Any, NoReturn

import mindtorch_v2 as torch
from mindtorch_v2._core.removed import removed
from mindtorch_v2._core.removed import symeig as _symeig  # noqa: F401  (a name of PyTorch's module)

__all__ = ["basis", "bform", "get_floating_dtype", "is_sparse", "matmul", "qform", "symeig"]


def is_sparse(A: Any) -> bool:
    """Whether a tensor is sparse, in coordinates; TypeError for what is no tensor."""
    if isinstance(A, torch.Tensor):
        return A.layout == torch.sparse_coo
    raise TypeError(f"expected Tensor but got {type(A).__name__}")


def get_floating_dtype(A: torch.Tensor) -> torch.dtype:
    """The dtype to compute with: the tensor's own where it is a floating one, else float32."""
    return A.dtype if A.dtype in (torch.float16, torch.float32, torch.float64) else torch.float32


def matmul(A: torch.Tensor | None, B: torch.Tensor) -> torch.Tensor:
    """The product of a matrix, dense or sparse, and a dense one; None stands for the identity."""
    if A is None:
        return B
    return torch.sparse.mm(A, B) if is_sparse(A) else torch.matmul(A, B)


def bform(X: torch.Tensor, A: torch.Tensor | None, Y: torch.Tensor) -> torch.Tensor:
    """The bilinear form `X^T A Y`."""
    return matmul(X.mT, matmul(A, Y))


def qform(A: torch.Tensor | None, S: torch.Tensor) -> torch.Tensor:
    """The quadratic form `S^T A S`."""
    return bform(S, A, S)


def basis(A: torch.Tensor) -> torch.Tensor:
    """Orthonormal columns that span what those of A span."""
    return torch.linalg.qr(A).Q


def symeig(A: torch.Tensor, largest: bool | None = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues and eigenvectors of symmetric matrices, in rising order, or falling with `largest`."""
    values, vectors = torch.linalg.eigh(A, UPLO="U")
    if largest:
        return values.flip(-1), vectors.flip(-1)
    return values, vectors


def matrix_rank(input: Any, tol: Any = None, symmetric: bool = False, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: `torch.linalg.matrix_rank` took its place.

    >>> try:
    ...     torch.matrix_rank(torch.eye(2))
    ... except RuntimeError as error:
    ...     print(str(error).splitlines()[0].partition(". ")[0].rstrip("."))
    This function was deprecated since version 1.9 and is now removed
    """
    removed("matrix_rank")


def solve(input: Any, A: Any, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: `torch.linalg.solve`, with its arguments the other way round, took its place.

    >>> try:
    ...     torch.solve(torch.ones(2, 1), torch.eye(2))
    ... except RuntimeError as error:
    ...     print(str(error).partition(". ")[0])
    This function was deprecated since version 1.9 and is now removed
    """
    removed("solve")


def lstsq(input: Any, A: Any, *, out: Any = None) -> NoReturn:
    """Raise RuntimeError: `torch.linalg.lstsq`, with its arguments the other way round, took its place.

    >>> try:
    ...     torch.lstsq(torch.ones(2, 1), torch.eye(2))
    ... except RuntimeError as error:
    ...     print(str(error).partition(". ")[0])
    This function was deprecated since version 1.9 and is now removed
    """
    removed("lstsq")


def eig(self: Any, eigenvectors: bool = False, *, e: Any = None, v: Any = None) -> NoReturn:
    """Raise RuntimeError: `torch.linalg.eig`, whose results are complex, took its place.

    >>> try:
    ...     torch.eig(torch.eye(2))
    ... except RuntimeError as error:
    ...     print(str(error).partition(". ")[0])
    This function was deprecated since version 1.9 and is now removed
    """
    removed("eig")
