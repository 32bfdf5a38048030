"""Factorisations and solves that LAPACK does, with their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core.dtype import DTYPES
from ..table import S, T, aten, conj, not_derived, not_recorded, op

if TYPE_CHECKING:
    from ..._tensor import Tensor


_DTYPES = "float complex"


def _adjoint(x):
    return conj(x.transpose(-2, -1))


def _cholesky_grad(grad, upper, result0):
    lower = _adjoint(result0) if upper else result0
    slope = _adjoint(grad) if upper else grad
    inner = aten.matmul(_adjoint(lower), slope).tril()
    below = inner.tril(-1)
    # PyTorch keeps the imaginary parts that reach a complex factor's diagonal.
    middle = (below + _adjoint(below) + aten.diag_embed(inner.diagonal(0, -2, -1))) * 0.5
    left = aten.linalg_solve_triangular(_adjoint(lower), middle, upper=True)
    return aten.linalg_solve_triangular(lower, left, upper=False, left=False)


def _inverse_grad(grad, result0):
    back = _adjoint(result0)
    return -aten.matmul(back, aten.matmul(grad, back))


def _lu_factor_grad(grad, result0, result1):
    rows, cols = result0.shape[-2:]
    k = min(rows, cols)
    permutation, lower, upper = aten.lu_unpack(result0, result1)
    square_lower, square_upper = lower[..., :k, :], upper[..., :, :k]
    to_lower, to_upper = grad[..., :, :k].tril(-1), grad[..., :k, :].triu()
    below = aten.matmul(_adjoint(square_lower), to_lower[..., :k, :])
    above = aten.matmul(to_upper[..., :, :k], _adjoint(square_upper))
    if cols > k:
        below = below - aten.matmul(to_upper[..., :, k:], _adjoint(upper[..., :, k:]))
    if rows > k:
        above = above - aten.matmul(_adjoint(lower[..., k:, :]), to_lower[..., k:, :])
    inner = below.tril(-1) + above.triu()
    left = aten.linalg_solve_triangular(_adjoint(square_lower), inner, upper=True, unitriangular=True)
    result = aten.linalg_solve_triangular(_adjoint(square_upper), left, upper=False, left=False)
    if cols > k:
        rest = aten.linalg_solve_triangular(
            _adjoint(square_lower), to_upper[..., :, k:], upper=True, unitriangular=True
        )
        result = aten.cat([result, rest], -1)
    if rows > k:
        rest = aten.linalg_solve_triangular(_adjoint(square_upper), to_lower[..., k:, :], upper=False, left=False)
        result = aten.cat([result, rest], -2)
    return aten.matmul(permutation, result)


def _lu_solve_grads(grad, LU, pivots, B, left, adjoint, result, needs) -> tuple:
    to_b = aten._lu_solve(LU, pivots, grad, left, not adjoint)
    to_lu = None
    if needs[0]:
        permutation, lower, upper = aten.lu_unpack(LU, pivots)
        # With A = P L U and A X = B: the gradient for A is -to_b X^H (its adjoint for the adjoint equation).
        slope = -aten.matmul(result, _adjoint(to_b)) if adjoint else -aten.matmul(to_b, _adjoint(result))
        moved = aten.matmul(_adjoint(permutation), slope)
        to_lu = aten.matmul(moved, _adjoint(upper)).tril(-1) + aten.matmul(_adjoint(lower), moved).triu()
    return to_lu, to_b


def _triangle_grads(grad, A, upper, left, unitriangular, result, needs) -> tuple:
    to_b = aten._solve_triangular(_adjoint(A), grad, not upper, left, unitriangular)
    to_a = None
    if needs[0]:
        slope = -aten.matmul(to_b, _adjoint(result)) if left else -aten.matmul(_adjoint(result), to_b)
        to_a = slope.triu(1 if unitriangular else 0) if upper else slope.tril(-1 if unitriangular else 0)
    return to_a, to_b


def _qr_grad(grads, mode, result0, result1):
    to_q, to_r = grads
    q, r = result0, result1
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    rows, cols = q.size(-2), r.size(-1)
    if mode == "complete" and rows > cols:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    if rows < cols:
        # A = [X Y] with X square: R = [U V], X = Q U, Y = Q V.
        first, second = r[..., :, :rows], r[..., :, rows:]
        slope_first = None if to_r is None else to_r[..., :, :rows]
        rest = None if to_r is None else to_r[..., :, rows:]
        inner = to_q
        if rest is not None:
            # V = Q^H Y: what comes back through V reaches Q as Y dV^H = Q V dV^H.
            through = aten.matmul(q, aten.matmul(second, _adjoint(rest)))
            inner = through if to_q is None else to_q + through
        to_x = _qr_square(inner, slope_first, q, first)
        to_y = aten.matmul(q, rest) if rest is not None else q.new_zeros((*q.shape[:-1], cols - rows))
        return aten.cat([to_x, to_y], -1)
    return _qr_square(to_q, to_r, q, r)


def _qr_square(to_q, to_r, q, r):
    inner: Any = None  # of the two gradients at least one is there
    if to_r is not None:
        inner = aten.matmul(r, _adjoint(to_r))
    if to_q is not None:
        part = aten.matmul(_adjoint(to_q), q)
        inner = -part if inner is None else inner - part
    lower = inner.tril(-1)
    diagonal = aten.diag_embed(aten.real(inner.diagonal(0, -2, -1))).to(inner.dtype)
    full = aten.matmul(q, lower + _adjoint(lower) + diagonal)
    if to_q is not None:
        full = full + to_q
    return aten.linalg_solve_triangular(_adjoint(r), full, upper=False, left=False)


def _differences(values):
    """values[j] - values[i], with ones on the diagonal."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    return gaps + aten.diag_embed(aten.ones_like(values))


def _eigh_grad(grads, compute_v, result0, result1):
    if not compute_v:
        raise RuntimeError("linalg_eigh: cannot compute the gradient without eigenvectors; call with compute_v=True")
    to_values, to_vectors = grads
    vectors = result1
    inner = None
    if to_vectors is not None:
        slope = aten.matmul(_adjoint(vectors), to_vectors)
        # The vectors stay orthonormal: they turn, and what turns is skew. The gradient so is Hermitian, as PyTorch's is.
        inner = (slope - _adjoint(slope)) / (2 * _differences(result0))
        inner = inner - aten.diag_embed(inner.diagonal(0, -2, -1))
    if to_values is not None:
        diagonal = aten.diag_embed(to_values).to(vectors.dtype)
        inner = diagonal if inner is None else inner + diagonal
    return aten.matmul(vectors, aten.matmul(inner, _adjoint(vectors)))


def _eig_grad(grads, self, result0, result1):
    to_values, to_vectors = grads
    vectors = result1
    back = _adjoint(vectors)
    inner = None
    if to_vectors is not None:
        slope = aten.matmul(back, to_vectors)
        own = aten.real(slope.diagonal(0, -2, -1)).to(vectors.dtype)
        inner = (slope - aten.matmul(back, vectors) * own.unsqueeze(-2)) / conj(_differences(result0))
        inner = inner - aten.diag_embed(inner.diagonal(0, -2, -1))
    if to_values is not None:
        diagonal = aten.diag_embed(to_values)
        inner = diagonal if inner is None else inner + diagonal
    result = aten.linalg_solve(back, aten.matmul(inner, back))
    return result if self.is_complex() else aten.real(result)


def _svd_grad(grads, full_matrices, compute_uv, result0, result1, result2):
    to_u, to_s, to_vh = grads
    if not compute_uv:
        raise RuntimeError("svd: cannot compute the gradient without U and Vh; call with compute_uv=True")
    u, s, vh = result0, result1, result2
    k = s.size(-1)
    if full_matrices:
        u, vh = u[..., :, :k], vh[..., :k, :]
        to_u = None if to_u is None else to_u[..., :, :k]
        to_vh = None if to_vh is None else to_vh[..., :k, :]
    row, column = s.unsqueeze(-2).to(u.dtype), s.unsqueeze(-1).to(u.dtype)
    squares = s * s
    gaps = _differences(squares)
    inner = aten.diag_embed(to_s).to(u.dtype) if to_s is not None else None

    def skew(x: Tensor) -> Tensor:
        return x - _adjoint(x)

    def add(total: Tensor | None, part: Tensor) -> Tensor:
        return part if total is None else total + part

    if to_u is not None:
        product = aten.matmul(_adjoint(u), to_u)
        inner = add(inner, skew(product) / gaps * row)
        if u.is_complex():
            turn = aten.imag(product.diagonal(0, -2, -1)) / s
            inner = inner + aten.diag_embed(aten.complex(aten.zeros_like(turn), turn))
    if to_vh is not None:
        inner = add(inner, column * (skew(aten.matmul(vh, _adjoint(to_vh))) / gaps))
    result = aten.matmul(aten.matmul(u, inner), vh)
    if to_u is not None and u.size(-2) > k:
        outside = to_u - aten.matmul(u, aten.matmul(_adjoint(u), to_u))
        result = result + aten.matmul(outside / row, vh)
    if to_vh is not None and vh.size(-1) > k:
        outside = to_vh - aten.matmul(aten.matmul(to_vh, _adjoint(vh)), vh)
        result = result + aten.matmul(u, outside / column)
    return result


# ---- results on the meta device: sizes only ----


def _codes(x):
    """Error codes: one for each matrix of the batch."""
    return x.new_empty(x.shape[:-2], dtype=DTYPES["int32"])


def _real_like(x, shape):
    return aten.real(x.new_empty(shape)) if x.is_complex() else x.new_empty(shape)


def _complex_like(x, shape):
    return x.new_empty(shape) if x.is_complex() else aten.complex(x.new_empty(shape), x.new_empty(shape))


def _columns(x, shape):
    """Like LAPACK's results: each matrix in columns."""
    *batch, rows, cols = shape
    return x.new_empty([*batch, cols, rows]).transpose(-2, -1)


def _square_and_codes(x, **options) -> tuple:
    return _columns(x, x.shape), _codes(x)


def _lu_meta(x, **options) -> tuple:
    return _columns(x, x.shape), x.new_empty([*x.shape[:-2], min(x.shape[-2:])], dtype=DTYPES["int32"]), _codes(x)


def _qr_meta(x, mode="reduced") -> tuple:
    rows, cols = x.shape[-2:]
    middle = rows if mode == "complete" else min(rows, cols)
    left = x.new_empty([0]) if mode == "r" else _columns(x, [*x.shape[:-1], middle])
    return left, _columns(x, [*x.shape[:-2], middle, cols])


def _svd_meta(x, full_matrices=False, compute_uv=True, *, driver=None) -> tuple:
    rows, cols = x.shape[-2:]
    batch, k = list(x.shape[:-2]), min(rows, cols)
    values = _real_like(x, [*batch, k])
    if not compute_uv:
        return x.new_empty([0]), values, x.new_empty([0])
    left, right = (rows, cols) if full_matrices else (k, k)
    return _columns(x, [*batch, rows, left]), values, _columns(x, [*batch, right, cols])


def _eigh_meta(x, uplo="L", compute_v=True) -> tuple:
    return _real_like(x, x.shape[:-1]), _columns(x, x.shape) if compute_v else x.new_empty([0])


op(
    "_linalg_check_errors(Tensor info, str api_name, *, bool is_matrix) -> ()",
    "Raises what LAPACK's error codes mean.",
    bind="function",
    meta_kernel=lambda info, name, *, is_matrix: None,
    grad=None,
)

op(
    'linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)',
    "Orthonormal columns times an upper triangle.",
    bind="linalg out",
    out_dtype="exact",
    batching="matrix",
    autocast="float32",
    grad={"A": _qr_grad},
    meta_kernel=_qr_meta,
    dtypes=_DTYPES,
    samples=[S(T(4, 3)), S(T(2, 3, 3)), S(T(3, 4))],
)

op(
    "linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    "Eigenvalues and vectors of square matrices, complex.",
    bind="linalg out",
    batching="matrix",
    raises_by_values=True,
    autocast="float32",
    grad={"self": _eig_grad},
    meta_kernel=lambda x: (_complex_like(x, x.shape[:-1]), _columns(_complex_like(x, [0]), x.shape)),
    dtypes=_DTYPES,
)

op(
    "geqrf(Tensor self) -> (Tensor a, Tensor tau)",
    "QR as LAPACK leaves it: reflectors below the diagonal.",
    bind="function method out",
    out_overload="a",
    batching="matrix",
    autocast="float32",
    grad={"self": not_derived("geqrf")},
    meta_kernel=lambda x: (_columns(x, x.shape), x.new_empty([*x.shape[:-2], min(x.shape[-2:])])),
    dtypes=_DTYPES,
)

op(
    "linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    "Cholesky factor and error codes.",
    bind="linalg out",
    out_overload="L",
    out_dtype="exact",
    batching="matrix",
    autocast="float32",
    grad={"self": _cholesky_grad},
    nondiff=(1,),
    meta_kernel=_square_and_codes,
    dtypes=_DTYPES,
)


def _householder_product_grad(grad, input, tau) -> tuple:
    """Reflector i is I - tau v v^H; the product is differentiated between the reflectors before and after it."""
    m, n, k = input.size(-2), input.size(-1), tau.size(-1)
    rows = aten.arange(m, device=input.device)
    vectors = []
    for i in range(k):
        below = aten.where(rows > i, input[..., :, i], 0)
        vectors.append((below + (rows == i).to(input.dtype)).unsqueeze(-1))
    after = [aten.eye(m, n, dtype=input.dtype, device=input.device).expand(input.shape)]
    for i in range(k - 1, 0, -1):
        v, t = vectors[i], tau[..., i, None, None]
        after.append(after[-1] - t * (v @ (v.mH @ after[-1])))
    after.reverse()
    before, for_tau, columns = grad, [], []
    for i in range(k):
        v, t = vectors[i], tau[..., i, None, None]
        along_before, along_after = v.mH @ before, v.mH @ after[i]
        for_tau.append(-(along_before * along_after.conj()).sum(-1))
        slope = -t.conj() * (before @ along_after.mH) - t * (after[i] @ along_before.mH)
        columns.append(aten.where((rows > i).unsqueeze(-1), slope, 0))
        before = before - t.conj() * (v @ along_before)
    columns += [aten.zeros_like(grad[..., :1])] * (n - k)
    if not columns:
        return aten.zeros_like(input), aten.zeros_like(tau)
    return aten.cat(columns, -1), aten.cat(for_tau, -1) if for_tau else aten.zeros_like(tau)


op(
    "linalg_householder_product(Tensor input, Tensor tau) -> Tensor",
    "First columns of a product of reflectors.",
    bind="linalg out",
    autocast="float32",
    grad={("input", "tau"): _householder_product_grad},
    samples=[S(T(4, 3), T(2)), S(T(2, 3, 3), T(2, 3))],
    meta_kernel=lambda x, tau: _columns(x, x.shape),
    dtypes=_DTYPES,
)

op(
    "linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    "Inverse and error codes.",
    bind="linalg out",
    out_overload="inverse",
    out_dtype="exact",
    batching="matrix",
    autocast="float32",
    grad={"A": _inverse_grad},
    nondiff=(1,),
    meta_kernel=_square_and_codes,
    dtypes=_DTYPES,
)

op(
    "linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor info)",
    "LU factors in one matrix, row exchanges, and error codes.",
    bind="linalg out",
    out_dtype="exact",
    batching="matrix",
    grad={"A": _lu_factor_grad},
    nondiff=(1, 2),
    meta_kernel=_lu_meta,
    dtypes=_DTYPES,
)

op(
    "linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False)"
    " -> (Tensor LD, Tensor pivots, Tensor info)",
    "Factors of symmetric or Hermitian matrices, exchanges, and error codes.",
    bind="linalg out",
    out_dtype="exact",
    batching="matrix",
    grad={"self": not_recorded("linalg_ldl_factor_ex")},
    node="NotImplemented",
    meta_kernel=lambda x, **options: (
        _columns(x, x.shape),
        x.new_empty(x.shape[:-1], dtype=DTYPES["int32"]),
        _codes(x),
    ),
    dtypes=_DTYPES,
)

op(
    "_ldl_solve(Tensor LD, Tensor pivots, Tensor B, bool hermitian) -> Tensor",
    "Solves with LDL factors; operands of one batch.",
    grad={("LD", "B"): not_recorded("linalg_ldl_solve")},
    node="NotImplemented",
    meta_kernel=lambda factors, pivots, right, hermitian: _columns(right, right.shape),
    dtypes=_DTYPES,
)

op(
    "_ormqr(Tensor self, Tensor input2, Tensor input3, bool left, bool transpose) -> Tensor",
    "A product with the Q that reflectors stand for; operands of one batch.",
    batching="stack",
    grad=None,
    meta_kernel=lambda reflectors, tau, other, left, transpose: _columns(other, other.shape),
    dtypes=_DTYPES,
)

op(
    "_linalg_eigh(Tensor A, str UPLO='L', bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)",
    "Eigenvalues and vectors of symmetric or Hermitian matrices; reads one triangle.",
    bind="out",
    out_dtype="exact",
    out_overload="eigenvalues",
    batching="matrix",
    grad={"A": _eigh_grad},
    meta_kernel=_eigh_meta,
    dtypes=_DTYPES,
)

op(
    "_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)",
    "Singular values and vectors.",
    bind="out",
    out_dtype="exact",
    out_overload="U",
    batching="matrix",
    grad={"A": _svd_grad},
    meta_kernel=_svd_meta,
    dtypes=_DTYPES,
)

op(
    "_lu_solve(Tensor LU, Tensor pivots, Tensor B, bool left, bool adjoint) -> Tensor",
    "Solves with LU factors; operands of one batch.",
    grad={("LU", "B"): _lu_solve_grads},
    node="LinalgLuSolveBackward0",
    meta_kernel=lambda factors, pivots, right, left, adjoint: _columns(right, right.shape),
    dtypes=_DTYPES,
)

op(
    "_solve_triangular(Tensor A, Tensor B, bool upper, bool left, bool unitriangular) -> Tensor",
    "Solves a triangular system; operands of one batch.",
    grad={("A", "B"): _triangle_grads},
    node="LinalgSolveTriangularBackward0",
    meta_kernel=lambda matrix, right, upper, left, unit: _columns(right, right.shape),
    dtypes=_DTYPES,
)
