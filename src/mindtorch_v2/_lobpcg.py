"""A few extreme eigenpairs of a symmetric matrix, by the locally optimal block conjugate gradient method (Knyazev, 2001).

Each step seeks the best eigenvectors in the span of the last ones, their residuals and the last directions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

__all__ = ["lobpcg"]


def _orthonormal(S, B):
    """A basis of the span of S's columns, orthonormal with respect to B; directions that are nearly lost are left out."""
    S = S / S.norm(dim=0).clamp(min=torch.finfo(S.dtype).tiny)
    for _ in range(2):  # once more for what rounding left
        scales, vectors = torch.linalg.eigh(S.mT @ (S if B is None else B @ S))
        kept = scales > scales[-1] * torch.finfo(S.dtype).eps * S.shape[0]
        S = S @ (vectors[:, kept] / scales[kept].sqrt())
    return S


def _best(S, A, count, largest) -> tuple:
    """The `count` extreme eigenvalues of A within the span of the orthonormal S, and their vectors."""
    values, vectors = torch.linalg.eigh(S.mT @ (A @ S))
    if largest:
        return values[-count:].flip(0), S @ vectors[:, -count:].flip(1)
    return values[:count], S @ vectors[:, :count]


def _iterate(A, B, X, iK, niter, tol, largest) -> tuple:
    """Eigenvalues and vectors, as many as X has columns, for one matrix."""
    count = X.shape[1]
    size_a = A.norm()
    size_b = A.shape[0] ** 0.5 if B is None else B.norm()
    values, X = _best(_orthonormal(X, B), A, count, largest)
    directions = X[:, :0]
    for _ in itertools.count() if niter < 0 else range(niter):
        BX = X if B is None else B @ X
        residual = A @ X - BX * values
        error = residual.norm(dim=0) / (X.norm(dim=0) * (size_a + values.abs() * size_b))
        if (error < tol).all():
            break
        W = residual if iK is None else iK @ residual
        S = _orthonormal(torch.cat([X, W, directions], 1), B)
        values, new = _best(S, A, count, largest)
        directions = new - X @ (BX.mT @ new)
        X = new
    return values, X


class _Lobpcg(torch.autograd.Function):
    """The iteration as one step of a graph: its gradient follows from the eigenpairs, however they were found."""

    @staticmethod
    def forward(
        ctx: Any,
        A: torch.Tensor,
        B: torch.Tensor | None,
        X: torch.Tensor,
        iK: torch.Tensor | None,
        niter: int,
        tol: float,
        largest: bool,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        matrices = A.reshape(-1, *A.shape[-2:])
        others = [
            None if t is None else t.expand(*A.shape[:-2], *t.shape[-2:]).reshape(-1, *t.shape[-2:]) for t in (B, X, iK)
        ]
        iterate: Any = _iterate
        found = [
            iterate(a, *(None if t is None else t[i] for t in others), niter, tol, largest)
            for i, a in enumerate(matrices)
        ]
        values, vectors = (
            torch.stack(parts).reshape(*A.shape[:-2], *parts[0].shape) for parts in zip(*found, strict=True)
        )
        ctx.save_for_backward(A, values, vectors)
        ctx.general = B is not None
        return values, vectors

    @staticmethod
    def backward(ctx: Any, grad_values: torch.Tensor, grad_vectors: torch.Tensor) -> tuple:
        if ctx.general:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        A, values, vectors = ctx.saved_tensors
        columns = vectors.mT  # (..., pair, place)
        # A column moves by the inverse of (value - A) off itself; added to the value's own change along the column.
        off = grad_vectors.mT - (grad_vectors.mT * columns).sum(-1, keepdim=True) * columns
        identity = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        own = columns.unsqueeze(-1) * columns.unsqueeze(-2)
        shifted = values[..., None, None] * identity - A.unsqueeze(-3) + own
        moved = torch.linalg.solve(shifted, off.unsqueeze(-1)).squeeze(-1) + grad_values.unsqueeze(-1) * columns
        grad = moved.mT @ columns
        return (grad + grad.mT) / 2, None, None, None, None, None, None


@overridable
def lobpcg(
    A: torch.Tensor,
    k: int | None = None,
    B: torch.Tensor | None = None,
    X: torch.Tensor | None = None,
    n: int | None = None,
    iK: torch.Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple:
    """The `k` largest (or, with `largest=False`, smallest) eigenvalues of the symmetric `A` (..., m, m), and their vectors.

    Returns `(values, vectors)`, (..., k) and (..., m, k), of `A x = value * B x`; B is positive definite, the identity if
    None. The search starts at `X` (..., m, n), or at n random columns (k, if None) from the default generator; `iK`
    (..., m, m) is a preconditioner. It ends when the residuals, relative to A's size, are below `tol` (the root of the
    dtype's precision), or after `niter` steps (1000; endless if negative). m must be at least 3 n: ValueError. The columns' signs
    are not determined. Without B, A gets a gradient if the eigenvalues differ. `method` and the `ortho_` parameters choose
    between PyTorch's ways to the same result; there is one way here. `tracker` raises NotImplementedError.

    >>> import mindtorch_v2 as torch
    >>> values, vectors = torch.lobpcg(torch.diag(torch.arange(1.0, 8.0)), k=2)
    >>> values.allclose(torch.tensor([7.0, 6.0]))
    True
    """
    if tracker is not None:
        raise NotImplementedError("torch.lobpcg: tracker is not implemented in mindtorch_v2")
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if not A.is_floating_point():
        raise RuntimeError(f"lobpcg: expected A to be of a real floating dtype, but got {A.dtype}")
    m = A.shape[-1]
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    if X is None:
        X = torch.randn(*A.shape[:-2], m, n, dtype=A.dtype, device=A.device)
    tol = torch.finfo(A.dtype).eps ** 0.5 if tol is None else tol
    niter = 1000 if niter is None else niter
    values, vectors = _Lobpcg.apply(A, B, X, iK, niter, tol, largest is not False)
    return values[..., :k], vectors[..., :k]
