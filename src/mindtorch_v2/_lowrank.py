"""Factors of low rank by random projection (Halko, Martinsson and Tropp, 2009, algorithms 4.4 and 5.1).

A matrix is multiplied by a few random vectors; what comes out spans nearly the directions that matter, and the matrix
is small in a basis of them.
"""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

__all__ = ["get_approximate_basis", "pca_lowrank", "svd_lowrank"]


def get_approximate_basis(A: torch.Tensor, q: int, niter: int = 2, M: torch.Tensor | None = None) -> torch.Tensor:
    """Orthonormal columns (..., m, q) that nearly span those of `A - M` (..., m, n), by `niter` rounds of subspace iteration.

    Draws (n, q) normal numbers of A's dtype (float32 for a dtype that is not floating) from the default generator.

    >>> import mindtorch_v2 as torch
    >>> basis = get_approximate_basis(torch.ones(4, 3), 1)
    >>> (basis @ basis.mT @ torch.ones(4, 3)).allclose(torch.ones(4, 3))
    True
    """
    dtype = A.dtype if A.is_floating_point() or A.is_complex() else torch.float32

    def reduced(tall: torch.Tensor) -> torch.Tensor:
        return torch.linalg.qr(tall).Q

    def apply(x: torch.Tensor) -> torch.Tensor:
        return A @ x if M is None else A @ x - M @ x

    def apply_adjoint(x: torch.Tensor) -> torch.Tensor:
        return A.mH @ x if M is None else A.mH @ x - M.mH @ x

    basis = reduced(apply(torch.randn(A.shape[-1], q, dtype=dtype, device=A.device)))
    for _ in range(niter):
        basis = reduced(apply(reduced(apply_adjoint(basis))))
    return basis


@overridable
def svd_lowrank(
    A: torch.Tensor, q: int = 6, niter: int = 2, M: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`(U, S, V)` of rank `q` with `U @ diag(S) @ V.mH` near `A - M`: (..., m, q), (..., q) and (..., n, q).

    `niter` is the number of rounds of subspace iteration, `M` broadcasts to A. The default generator is used.

    >>> import mindtorch_v2 as torch
    >>> U, S, V = svd_lowrank(torch.ones(4, 3), q=1)
    >>> ((U * S) @ V.mH).allclose(torch.ones(4, 3))
    True
    """
    return _svd(A, q, niter, M)


def _svd(A, q, niter, M) -> tuple:
    m, n = A.shape[-2:]
    M = None if M is None else M.broadcast_to(A.shape)
    wide = m < n
    if wide:
        A, M = A.mH, None if M is None else M.mH
    basis = get_approximate_basis(A, q, niter, M)
    small = basis.mH @ A if M is None else basis.mH @ A - basis.mH @ M
    u, s, vh = torch.linalg.svd(small, full_matrices=False)
    left, right = basis @ u, vh.mH
    return (right, s, left) if wide else (left, s, right)


@overridable
def pca_lowrank(
    A: torch.Tensor, q: int | None = None, center: bool = True, niter: int = 2
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Principal components of the rows of `A` (..., m, n): `(U, S, V)` as `svd_lowrank` of A less its column means.

    `q` is 6 by default, or the smaller side of A. Raises ValueError for a `q` or `niter` that is out of range.

    >>> import mindtorch_v2 as torch
    >>> U, S, V = pca_lowrank(torch.tensor([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]), q=1)
    >>> V.abs().flatten()
    tensor([0.4472, 0.8944])
    """
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not 0 <= q <= min(m, n):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return _svd(A - A.mean(dim=-2, keepdim=True) if center else A, q, niter, None)
