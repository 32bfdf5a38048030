"""Eigenvalues and singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES, finfo
from ...._operators.table import aten
from ..table import Source, blocks, element, kernel, pack
from .linalg import (
    batches,
    check_codes,
    check_finite,
    check_matrix,
    check_square,
    codes,
    columns_of,
    identity_like,
    places,
    reflect,
    reflectors,
    threads_for,
)  # fmt: skip

if TYPE_CHECKING:
    from ...._tensor import Tensor

_SWEEPS = 60  # of rotations; some ten are enough
_HERMITIAN, _ORTHOGONAL = Source("jacobi.cuh", "hermitian"), Source("jacobi.cuh", "orthogonal")
_SCHUR, _VECTORS = Source("eig.cuh", "schur"), Source("eig.cuh", "triangular_vectors")


def _taken(vectors: Tensor, order: Tensor) -> Tensor:
    """Columns in an order."""
    return columns_of(aten.gather(vectors, -1, order.unsqueeze(-2).expand(vectors.shape)))


@kernel("_linalg_eigh")
def eigh(self: Tensor, uplo: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    check_square(self, "linalg.eigh")
    if uplo not in ("L", "l", "U", "u"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    n = self.shape[-1]
    half = self.tril(-1) if uplo in "Ll" else self.triu(1)
    diagonal = aten.diagonal(self, 0, -2, -1)
    whole = columns_of(half + half.mH + aten.diag_embed(aten.real(diagonal).to(self.dtype)))
    vectors, info = identity_like(self, n, n), codes(self)
    if whole.numel():
        rotations = aten.empty([batches(self), (n + 1) // 2, 3], dtype=self.dtype, device=self.device)
        arguments = pack(n, n, _SWEEPS, places(whole), places(vectors), rotations, info)
        words = (("ELEMENT", element(self.dtype)),)
        _HERMITIAN.launch(self.device.index, words, (batches(self),), (threads_for(n),), arguments, shared=32 * 8)
        check_codes(info, "linalg.eigh", self)
    values, order = aten.sort(aten.real(aten.diagonal(whole, 0, -2, -1)).contiguous(), -1)
    return values, _taken(vectors, order) if compute_v else aten.empty([0], dtype=self.dtype, device=self.device)


def _tall_svd(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """u times s, s and v of matrices with no fewer rows than columns; s from the largest on."""
    n = a.shape[-1]
    product, v, info = columns_of(a), identity_like(a, n, n), codes(a)
    if product.numel():
        # Squares of what is very large or small are not numbers.
        top = aten.amax(aten.abs(product), (-2, -1), True)
        top = aten.where(top == 0, 1, top)
        product.div_(top)
        arguments = pack(a.shape[-2], n, _SWEEPS, places(product), places(v), None, info)
        words = (("ELEMENT", element(a.dtype)),)
        threads = min(512, 32 * max(1, 1 << max(0, (n + 1) // 2 - 1).bit_length()))
        _ORTHOGONAL.launch(a.device.index, words, (batches(a),), (threads,), arguments)
        check_codes(info, "linalg.svd", a)
        sizes = aten.linalg_vector_norm(product, 2, [-2]) * top.squeeze(-1)
        product.mul_(top)
    else:
        sizes = aten.real(aten.zeros([*a.shape[:-2], n], dtype=a.dtype, device=a.device))
    s, order = aten.sort(sizes, -1, True)
    return _taken(product, order), s, _taken(v, order)


def _filled(product: Tensor, s: Tensor, cols: int) -> Tensor:
    """Orthonormal columns: those of u times s, and others where s is zero and beyond it."""
    rows, n = product.shape[-2:]
    least = s[..., :1] * (finfo(s.dtype).eps * max(rows, n)) if n else s
    good = (s > least).unsqueeze(-2)
    u = aten.where(good, product / s.unsqueeze(-2).to(product.dtype), 0)
    factors, tau = reflectors(u)
    q = identity_like(product, rows, cols)
    reflect(factors, tau, q)
    found = aten.where(good, u, q[..., :n])
    return columns_of(found if cols == n else aten.cat([found, q[..., n:]], -1))


@kernel("_linalg_svd")
def svd(
    self: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    check_matrix(self, "linalg.svd")
    if driver not in (None, "gesvd", "gesvdj", "gesvda"):
        raise RuntimeError(
            f"torch.linalg.svd: unknown svd driver {driver}, please use one of gesvd, gesvdj, gesvda or None: all of them are one here"
        )
    check_finite(
        self, "linalg.svd: {}The algorithm failed to converge because the input matrix contained non-finite values."
    )
    rows, cols = self.shape[-2:]
    wide = rows < cols
    product, s, v = _tall_svd(self.mH if wide else self)
    if not compute_uv:
        return (
            aten.empty([0], dtype=self.dtype, device=self.device),
            s,
            aten.empty([0], dtype=self.dtype, device=self.device),
        )
    u = _filled(product, s, product.shape[-2] if full_matrices else product.shape[-1])
    return (v, s, columns_of(u.mH)) if wide else (u, s, columns_of(v.mH))


@kernel("linalg_eig")
def eig(self: Tensor) -> tuple[Tensor, Tensor]:
    check_square(self, "linalg.eig")
    if not bool(aten.isfinite(self).all()):
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    n, real = self.shape[-1], not self.is_complex()
    wide = {"float32": "complex64", "float64": "complex128"}
    dtype = DTYPES[wide[str(self.dtype).rpartition(".")[2]]] if real else self.dtype
    upper = columns_of(self.to(dtype))
    turned, inner, info = identity_like(upper, n, n), columns_of(upper), codes(self)
    if upper.numel():
        work = aten.empty([batches(self), 2 * n], dtype=dtype, device=self.device)
        arguments = pack(n, places(upper), places(turned), places(inner), work, info)
        words = (("ELEMENT", element(dtype)),)
        _SCHUR.launch(self.device.index, words, (batches(self),), (threads_for(n),), arguments, shared=32 * 8)
        _VECTORS.launch(self.device.index, words, (blocks(n, 64), batches(self)), (64,), arguments)
        check_codes(info, "linalg.eig", self)
    values = aten.diagonal(upper, 0, -2, -1).contiguous()
    vectors = aten.matmul(turned, inner)
    if upper.numel():
        if real:  # eigenvalues of real matrices are real, or pairs
            size = aten.linalg_vector_norm(self, 2, [-2, -1]).unsqueeze(-1)
            near = aten.abs(aten.imag(values)) <= 8 * finfo(size.dtype).eps * size
            values = aten.where(near, aten.real(values).to(dtype), values)
        vectors = vectors / aten.linalg_vector_norm(vectors, 2, [-2], True).to(dtype)
        top = aten.gather(vectors, -2, aten.argmax(aten.abs(vectors), -2, True))
        vectors = vectors * aten.conj_physical(aten.sgn(top))  # the largest number of each is real
    return values, columns_of(vectors)
