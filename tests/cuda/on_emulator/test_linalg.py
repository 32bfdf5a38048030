"""Dense linear algebra beside the CPU's, which is LAPACK; vectors, whose signs are open, by what they make of the matrix."""

import itertools
import math
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.cuda.ops import linalg
from mindtorch_v2._operators.table import aten

_DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
_SHAPES = [(), (1,), (2, 2)]
dtypes = pytest.mark.parametrize("dtype", _DTYPES, ids=[str(d)[6:] for d in _DTYPES])
sizes = pytest.mark.parametrize(
    ("n", "batch"), [(1, ()), (3, ()), (5, (2,)), (8, (2, 2)), (11, ()), (0, ()), (4, (0,))]
)


@pytest.fixture(autouse=True, params=["whole", "halved"])
def _halved(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test by one block a matrix, and by halves as large matrices are done."""
    if request.param == "halved":
        monkeypatch.setattr(linalg, "_LEAST", 2)


def _made(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def _assert_close(ours: Any, theirs: Any, factor: float = 1) -> None:
    assert ours.device.type == "cuda"
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    if theirs.is_floating_point() or theirs.is_complex():
        room = factor * (1e-9 if theirs.dtype in (torch.float64, torch.complex128) else 2e-3)
        torch.testing.assert_close(
            ours.cpu(), theirs, rtol=room, atol=room * max(1.0, float(theirs.abs().max() if theirs.numel() else 0))
        )
    else:
        assert torch.equal(ours.cpu(), theirs)


def _assert_all(function: Any, *args: Any, factor: float = 1) -> None:
    ours = function(*(a.cuda() if isinstance(a, torch.Tensor) else a for a in args))
    theirs = function(*args)
    for one, other in zip(*((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs)), strict=True):
        _assert_close(one, other, factor)


@dtypes
@sizes
def test_factors_and_solves(n: int, batch: tuple[int, ...], dtype: Any) -> None:
    a, b = _made((*batch, n, n), dtype), _made((*batch, n, 3), dtype, 1)
    positive, whole = a @ a.mH + torch.eye(n, dtype=dtype), a + a.mH
    for upper in (False, True):
        _assert_all(lambda x, u=upper: torch.linalg.cholesky(x, upper=u), positive)
        _assert_all(lambda x, y, u=upper: torch.cholesky_solve(y, x, upper=u), positive, b)
    _assert_all(torch.linalg.lu_factor, a)
    _assert_all(torch.linalg.inv, a)
    _assert_all(torch.linalg.det, a)
    _assert_all(torch.linalg.solve, a, b)
    _assert_all(lambda x, y: torch.linalg.solve(x, y, left=False), a, b.mH.contiguous())
    factors, pivots = torch.linalg.lu_factor(a)
    _assert_all(lambda f, p, y: torch.linalg.lu_solve(f, p, y, adjoint=True), factors, pivots, b)
    for hermitian in (False, True):
        _assert_all(lambda x, h=hermitian: torch.linalg.ldl_factor(x, hermitian=h), whole)
        ld, exchanges = torch.linalg.ldl_factor(whole, hermitian=hermitian)
        _assert_all(
            lambda f, p, y, h=hermitian: torch.linalg.ldl_solve(f, p, y, hermitian=h), ld, exchanges, b, factor=10
        )


@dtypes
@sizes
def test_triangles(n: int, batch: tuple[int, ...], dtype: Any) -> None:
    a, b = _made((*batch, n, n), dtype) + 3 * torch.eye(n, dtype=dtype), _made((*batch, n, 35), dtype, 1)
    for upper, left, unit in itertools.product((False, True), repeat=3):
        right = b if left else b.mH.contiguous()
        _assert_all(
            lambda x, y, u=upper, s=left, o=unit: torch.linalg.solve_triangular(x, y, upper=u, left=s, unitriangular=o),
            a,
            right,
        )


@dtypes
@pytest.mark.parametrize("batch", _SHAPES)
@pytest.mark.parametrize(("rows", "cols"), [(3, 3), (6, 2), (2, 6), (1, 1), (0, 3), (3, 0)])
def test_rectangles(rows: int, cols: int, batch: tuple[int, ...], dtype: Any) -> None:
    a, k = _made((*batch, rows, cols), dtype), min(rows, cols)
    for mode in ("reduced", "complete", "r"):
        _assert_all(lambda x, m=mode: torch.linalg.qr(x, m), a)
    _assert_all(torch.geqrf, a)
    reflectors, tau = torch.geqrf(a)
    if rows >= cols:
        _assert_all(torch.linalg.householder_product, reflectors, tau)
    for left, adjoint in itertools.product((False, True), repeat=2):
        other = _made((*batch, rows, 2) if left else (*batch, 2, rows), dtype, 2)
        _assert_all(lambda r, t, o, s=left, h=adjoint: torch.ormqr(r, t, o, s, h), reflectors, tau, other)
    _assert_all(torch.linalg.svdvals, a)
    for full in (False, True):
        u, s, vh = torch.linalg.svd(a.cuda(), full_matrices=full)
        assert (u.shape[-1], vh.shape[-2]) == ((rows, cols) if full else (k, k))
        _assert_close(u[..., :k] * s.unsqueeze(-2) @ vh[..., :k, :], a)
        for unitary in (u.mH @ u, vh @ vh.mH):
            _assert_close(unitary, torch.eye(unitary.shape[-1], dtype=dtype).expand(unitary.shape))
    if rows and cols:
        _assert_all(lambda x: torch.linalg.lu_factor_ex(x)[:2], a)


@dtypes
@sizes
def test_eigenvalues(n: int, batch: tuple[int, ...], dtype: Any) -> None:
    a = _made((*batch, n, n), dtype)
    for triangle in "LU":
        half = a.tril(-1) if triangle == "L" else a.triu(1)
        whole = half + half.mH + torch.diag_embed(torch.diagonal(a, 0, -2, -1).real.to(dtype))
        values, vectors = torch.linalg.eigh(a.cuda(), triangle)
        _assert_close(values, torch.linalg.eigvalsh(a, triangle))
        _assert_close(vectors * values.unsqueeze(-2).to(dtype) @ vectors.mH, whole)
        _assert_close(vectors.mH @ vectors, torch.eye(n, dtype=dtype).expand(whole.shape))
    values, vectors = torch.linalg.eig(a.cuda())
    _assert_close(a.to(values.dtype).cuda() @ vectors, (vectors * values.unsqueeze(-2)).cpu())
    if n:
        _assert_close(torch.linalg.vector_norm(vectors, dim=-2), torch.ones((*batch, n), dtype=values.real.dtype))
    expected = torch.linalg.eigvals(a)
    for mine, theirs in zip(
        values.flatten(0, -2) if batch else [values], expected.flatten(0, -2) if batch else [expected], strict=True
    ):
        nearest = (mine.cpu().unsqueeze(0) - theirs.unsqueeze(1)).abs().min(1)[0] if n else mine.cpu().abs()
        assert float(nearest.max() if n else 0) < (1e-8 if dtype in (torch.float64, torch.complex128) else 5e-3)


def test_what_is_not_of_full_rank() -> None:
    a = torch.ones(4, 3, dtype=torch.float64)
    u, s, vh = torch.linalg.svd(a.cuda())
    assert torch.allclose(s.cpu(), torch.tensor([math.sqrt(12), 0.0, 0.0], dtype=torch.float64), atol=1e-12)
    _assert_close(u.mH @ u, torch.eye(4, dtype=torch.float64))
    _assert_close(vh @ vh.mH, torch.eye(3, dtype=torch.float64))
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(singular.cuda())
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.solve(singular.cuda(), torch.ones(2, device="cuda"))
    with pytest.raises(torch.linalg.LinAlgError, match=r"leading minor of order 2 is not positive-definite"):
        torch.linalg.cholesky(torch.tensor([[1.0, 0.0], [0.0, -1.0]]).cuda())
    info = torch.linalg.cholesky_ex(torch.diag(torch.tensor([1.0, 1.0, 1.0, 1.0, -1.0])).cuda())[1]
    assert int(info) == 5
    zero = torch.zeros(3, 3, dtype=torch.float64).cuda()
    assert torch.linalg.lu_factor_ex(zero)[2].cpu().tolist() == 1
    assert torch.linalg.eigvalsh(zero).cpu().tolist() == [0.0] * 3
    jordan = torch.linalg.eig(torch.eye(4, dtype=torch.float64).roll(1, 1).triu(1).cuda())  # has one vector
    assert torch.isfinite(torch.view_as_real(jordan[1])).all()


def test_large_and_small_numbers() -> None:
    for scale in (1e-30, 1e30):
        a = _made((4, 3), torch.float32) * scale
        _assert_close(torch.linalg.svdvals(a.cuda()) / scale, torch.linalg.svdvals(a) / scale)


def test_what_is_refused() -> None:
    a = torch.eye(3).cuda()
    for call, text in (
        (lambda: torch.linalg.svd(a * math.nan), "non-finite"),
        (lambda: torch.linalg.svd(a.expand(2, 3, 3) * torch.tensor([1.0, math.inf]).cuda().view(2, 1, 1)), "Batch element 1"),
        (lambda: torch.linalg.eig(a * math.inf), "should not contain infs or NaNs"),
        (lambda: torch.linalg.svd(a, driver="lapack"), "driver"),
        (lambda: torch.linalg.eigh(a, "X"), "UPLO"),
        (lambda: torch.linalg.eigh(a * math.nan), "failed to converge"),
        (lambda: torch.linalg.qr(a, "all"), "unrecognized mode"),
        (lambda: torch.linalg.cholesky(a[:2]), "square"),
        (lambda: torch.geqrf(a.to(torch.int32)), "floating point or complex"),
        (lambda: torch.geqrf(a[0]), "at least 2 dimensions"),
        (lambda: torch.linalg.lu_solve(a, torch.tensor([1, 2, 4], dtype=torch.int32).cuda(), a), "smaller or equal"),
        (lambda: torch.linalg.lu_solve(a, torch.tensor([0, 2, 3], dtype=torch.int32).cuda(), a), "greater or equal to 1"),
        (lambda: torch.linalg.ldl_solve(a, torch.tensor([1, 2, -4], dtype=torch.int32).cuda(), a), "pivot"),
        (lambda: torch.linalg.ldl_solve(a, torch.tensor([1, 2, -3], dtype=torch.int32).cuda(), a), "in pairs"),
        (lambda: torch.linalg.householder_product(a[:2], torch.ones(2).cuda()), "must be greater than or equal"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            call()


def test_sizes_that_do_not_fit() -> None:
    """By the operators themselves: the public ones check before them."""
    a, wide, pivots = torch.eye(3).cuda(), torch.ones(3, 4).cuda(), torch.tensor([1, 2, 3], dtype=torch.int32).cuda()
    for call, text in (
        (lambda: aten._solve_triangular(a, wide, True, False, False), r"XA = B \(3x3 and 3x4\)"),
        (lambda: aten._solve_triangular(a, wide.mT, True, True, False), r"AX = B \(3x3 and 4x3\)"),
        (lambda: aten._solve_triangular(a, wide.double(), True, True, False), "to have the same dtype"),
        (lambda: aten._solve_triangular(a, wide.expand(2, 3, 4), True, True, False), "batches of A and B differ"),
        (lambda: aten._solve_triangular(a, wide[0], True, True, False), "tensor B must have at least 2 dimensions"),
        (lambda: aten._lu_solve(a, pivots, wide.mT, True, False), r"\(3x3 and 4x3\)"),
        (lambda: aten._lu_solve(a, pivots[:2], wide, True, False), "expected a vector of 3"),
        (lambda: aten._ldl_solve(a, pivots, wide.mT, False), "each A matrix is 3 by 3 but each b matrix is 4 by 3"),
        (lambda: aten._ldl_solve(a, pivots[:2], wide, False), "expected operands of one batch"),
        (lambda: aten._ormqr(a, torch.ones(4).cuda(), wide, True, False), "incompatible shapes"),
        (lambda: aten._ormqr(a, torch.ones(3).cuda(), wide, False, False), "incompatible shapes"),
        (lambda: aten._ormqr(a, torch.tensor(1.0).cuda(), wide, True, False), "at least 1 dimension"),
        (lambda: torch.linalg.householder_product(a, torch.ones(1, 2).cuda()), "one dimension less than input"),
        (lambda: torch.linalg.householder_product(a, torch.ones(4).cuda()), "greater than or equal to tau.shape"),
        (lambda: torch.linalg.householder_product(a.expand(2, 3, 3), torch.ones(1, 2).cuda()), "batch dimensions of tau"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            call()
