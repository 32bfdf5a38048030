"""torch.linalg against PyTorch. Factors are compared through what does not depend on signs and phases."""

import pytest
from agreement import same_error
from pairs import compare

import mindtorch_v2 as torch


def _positive(library, x):
    return x @ x.transpose(-2, -1) + library.eye(x.shape[-1], dtype=x.dtype)


def _symmetric(x):
    return (x + x.transpose(-2, -1)) / 2


_SQUARE = [(3, 3), (2, 4, 4)]


@pytest.mark.parametrize("shape", _SQUARE)
@pytest.mark.parametrize(
    "function",
    [
        lambda t, x: t.linalg.cholesky(_positive(t, x)),
        lambda t, x: t.linalg.cholesky(_positive(t, x), upper=True),
        lambda t, x: t.cholesky_inverse(t.linalg.cholesky(_positive(t, x))),
        lambda t, x: t.cholesky_solve(x, t.linalg.cholesky(_positive(t, x))),
        lambda t, x: t.linalg.inv(_positive(t, x)),
        lambda t, x: t.inverse(x),
        lambda t, x: t.linalg.det(x),
        lambda t, x: t.linalg.slogdet(x),
        lambda t, x: t.logdet(_positive(t, x)),
        lambda t, x: t.linalg.eigvalsh(_symmetric(x)),
        lambda t, x: t.linalg.eigh(_symmetric(x))[1].abs(),
        lambda t, x: t.linalg.eigvals(x).abs().sort()[0],
        lambda t, x: t.linalg.svdvals(x),
        lambda t, x: t.linalg.svd(x, full_matrices=False)[0].abs(),
        lambda t, x: t.linalg.pinv(x),
        lambda t, x: t.linalg.qr(x)[1].abs(),
        lambda t, x: t.linalg.lu_factor(x)[0],
        lambda t, x: t.linalg.lu(x),
        lambda t, x: t.linalg.matrix_power(x, 3),
        lambda t, x: t.linalg.matrix_power(x, -2),
        lambda t, x: t.linalg.matrix_exp(x),
        lambda t, x: t.linalg.cond(x),
        lambda t, x: t.linalg.matrix_rank(x),
    ],
)
def test_square(function, shape):
    compare(function, shape, tolerance=1e-7)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize(
    "function",
    [
        lambda t, x: t.linalg.svdvals(x),
        lambda t, x: t.linalg.svd(x, full_matrices=False)[2].abs(),
        lambda t, x: t.linalg.pinv(x),
        lambda t, x: t.linalg.qr(x)[0].abs(),
        lambda t, x: t.linalg.qr(x)[1].abs(),
        lambda t, x: t.linalg.matrix_norm(x),
        lambda t, x: t.linalg.matrix_norm(x, "nuc"),
        lambda t, x: t.linalg.matrix_norm(x, 2),
        lambda t, x: t.linalg.matrix_norm(x, 1),
        lambda t, x: t.linalg.matrix_norm(x, -float("inf"), keepdim=True),
        lambda t, x: t.linalg.matrix_rank(x),
    ],
)
def test_any_matrix(function, shape):
    compare(function, shape, tolerance=1e-7)


@pytest.mark.parametrize(
    ("first", "second", "options"),
    [
        ((3, 3), (3, 2), {}),
        ((3, 3), (3,), {}),
        ((2, 3, 3), (3, 2), {}),
        ((2, 3, 3), (2, 3), {}),
        ((3, 3), (2, 3), {"left": False}),
    ],
)
def test_solve(first, second, options):
    compare(lambda t, a, b: t.linalg.solve(a, b, **options), first, second, tolerance=1e-7)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular(upper, left, unit):
    def call(t, a, b):
        a = a + 4 * t.eye(3, dtype=a.dtype)
        a = a.triu() if upper else a.tril()
        return t.linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)

    compare(call, (2, 3, 3), (3, 3), tolerance=1e-7)


def test_condition_by_other_norms():
    # Values only: PyTorch's own backward pass raises here.
    for p in (1, -1, float("inf"), "fro"):
        compare(lambda t, x, p=p: t.linalg.cond(x, p), (3, 3), order=0)


def test_least_squares():
    compare(lambda t, a, b: t.linalg.lstsq(a, b).solution, (5, 3), (5, 2), tolerance=1e-7)


def test_products():
    compare(lambda t, a, b, c: t.linalg.multi_dot([a, b, c]), (2, 3), (3, 4), (4,))
    compare(lambda t, a, b: t.linalg.cross(a, b), (4, 3), (4, 3), order=2)
    compare(lambda t, a, b: t.cross(a, b, dim=0), (3, 4), (3, 4))
    compare(lambda t, a, b: t.linalg.vecdot(a, b), (4, 3), (4, 3))
    compare(lambda t, x: t.linalg.vander(x, N=4), (3,))
    compare(lambda t, x: t.linalg.tensorinv(x, ind=2), (2, 3, 6), tolerance=1e-7)
    compare(lambda t, a, b: t.linalg.tensorsolve(a, b), (2, 3, 6), (2, 3), tolerance=1e-7)


def test_complex():
    def both(function):
        return lambda t, a, b: function(t, t.complex(a, b))

    for function in (
        lambda t, z: t.linalg.inv(z),
        lambda t, z: t.linalg.det(z),
        lambda t, z: t.linalg.svdvals(z),
        lambda t, z: t.linalg.eigvalsh(z + z.mH),
        lambda t, z: t.linalg.qr(z)[1].abs(),
        lambda t, z: t.linalg.solve(z, z.mT),
    ):
        compare(both(function), (3, 3), (3, 3), tolerance=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.linalg.cholesky(-t.eye(2)),
        lambda t: t.linalg.cholesky(-t.eye(2).expand(3, 2, 2)),
        lambda t: t.linalg.cholesky(t.ones(2, 3)),
        lambda t: t.linalg.cholesky(t.ones(3)),
        lambda t: t.linalg.cholesky(t.ones(2, 2).long()),
        lambda t: t.linalg.cholesky(t.eye(2).half()),
        lambda t: t.linalg.inv(t.zeros(2, 2)),
        lambda t: t.linalg.inv(t.ones(2, 3)),
        lambda t: t.linalg.solve(t.zeros(2, 2), t.zeros(2, 2)),
        lambda t: t.linalg.solve(t.ones(2, 2), t.ones(3)),
        lambda t: t.linalg.det(t.ones(2, 3)),
        lambda t: t.linalg.eigh(t.ones(2, 3)),
        lambda t: t.linalg.svd(t.ones(2)),
        lambda t: t.linalg.svd(t.full((2, 2), float("nan"))),
        lambda t: t.linalg.qr(t.ones(2, 2), mode="x"),
        lambda t: t.linalg.lu_factor(t.zeros(2, 2)),
        lambda t: t.linalg.multi_dot([t.ones(2)]),
        lambda t: t.linalg.cross(t.ones(2), t.ones(2)),
    ],
)
def test_errors_are_pytorchs(call):
    same_error(call)


@pytest.mark.parametrize(
    ("call", "strides"),
    [
        (lambda t, a: t.linalg.cholesky(a @ a.mT), [(9, 1, 3)]),
        (lambda t, a: t.linalg.qr(a), [(9, 1, 3), (12, 1, 3)]),
        (lambda t, a: t.linalg.qr(a.mT, "complete"), [(16, 1, 4), (12, 1, 4)]),
        (lambda t, a: t.geqrf(a), [(12, 1, 3), (3, 1)]),
        (lambda t, a: t.linalg.lu_factor(a), [(12, 1, 3), (3, 1)]),
        (lambda t, a: t.linalg.lu(a), [(9, 3, 1), (9, 3, 1), (12, 4, 1)]),
        (lambda t, a: t.linalg.inv(a @ a.mT), [(9, 1, 3)]),
        (lambda t, a: t.linalg.solve(a @ a.mT, a), [(12, 1, 3)]),
        (lambda t, a: t.linalg.solve(a @ a.mT, a.mT, left=False), [(12, 3, 1)]),
        (lambda t, a: t.linalg.eig(a @ a.mT), [(3, 1), (9, 1, 3)]),
        (lambda t, a: t.linalg.eigh(a @ a.mT), [(3, 1), (9, 1, 3)]),
        (lambda t, a: t.linalg.svd(a), [(9, 1, 3), (3, 1), (16, 1, 4)]),
        (lambda t, a: t.svd(a), [(9, 1, 3), (3, 1), (12, 3, 1)]),
        (lambda t, a: t.ormqr(*t.geqrf(a), a), [(12, 1, 3)]),
    ],
)
def test_results_are_in_columns_as_pytorchs_are(call, strides):
    a = (torch.arange(24.0).reshape(2, 3, 4) ** 2 * 1.7).sin()
    results = call(torch, a)
    results = results if isinstance(results, tuple) else (results,)
    assert [r.stride() for r in results] == strides


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_the_gradient_of_eigenvectors_is_hermitian(dtype):
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(4, 4, dtype=dtype, generator=generator)
    a = (a @ a.mH).requires_grad_()
    values, vectors = torch.linalg.eigh(a)
    weight = torch.randn(4, 4, dtype=torch.float64, generator=generator)
    (grad,) = torch.autograd.grad((vectors.abs() * weight).sum() + (values * weight[0]).sum(), a)
    torch.testing.assert_close(grad, grad.mH)

    def loss(x):
        return (torch.linalg.eigh((x + x.mH) / 2).eigenvectors.abs() * weight).sum()

    assert torch.autograd.gradcheck(loss, a)


def _refused(call, text):
    with pytest.raises(RuntimeError) as refused:
        call()
    assert str(refused.value) == text


def test_matrices_that_do_not_fit_are_named_by_the_function_that_was_called():
    ones, eye = torch.ones, torch.eye
    _refused(
        lambda: torch.cholesky_solve(ones(2, 1), eye(3)),
        "Incompatible matrix sizes for cholesky_solve: each A matrix is 3 by 3 but each b matrix is 2 by 1",
    )
    _refused(
        lambda: torch.cholesky_solve(ones(2), eye(2)),
        "b should have at least 2 dimensions, but has 1 dimensions instead",
    )
    _refused(
        lambda: torch.linalg.lstsq(ones(3, 2), ones(2, 1)),
        "torch.linalg.lstsq: input.size(-2) should match other.size(-2)",
    )
    _refused(
        lambda: torch.linalg.lstsq(ones(2, 2), ones(3)),
        "torch.linalg.lstsq: input.size(-2) should match other.size(-1)",
    )
    _refused(lambda: torch.linalg.lstsq(ones(2), ones(2)), "torch.linalg.lstsq: input must have at least 2 dimensions.")
    _refused(
        lambda: torch.linalg.ldl_solve(eye(2), ones(2, dtype=torch.int), ones(3, 1)),
        "Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is 2 by 2 but each b matrix is 3 by 1",
    )
    _refused(
        lambda: torch.linalg.det(ones(2, 2, dtype=torch.int)),
        "linalg.det: Expected a floating point or complex tensor as input. Got Int",
    )


def test_lstsq_gives_residuals_where_lapacks_routine_does():
    A, b = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), torch.tensor([[1.0], [0.0], [2.0]])
    for driver, size in ((None, 0), ("gelsy", 0), ("gels", 1), ("gelsd", 1), ("gelss", 1)):
        for right in (b, b[:, 0]):
            residuals = torch.linalg.lstsq(A, right, driver=driver).residuals
            assert residuals.shape == (size,)
            if size:
                torch.testing.assert_close(residuals, torch.tensor([0.642857]), rtol=1e-4, atol=0)


def test_inv_ex_of_singular_matrices_is_not_finite():
    for matrix in (torch.zeros(2, 2), torch.ones(2, 2), torch.tensor([[0.0, 1.0], [0.0, 2.0]])):
        inverse, info = torch.linalg.inv_ex(matrix)
        assert info.item() != 0 and not inverse.isfinite().all()


@pytest.mark.parametrize(
    ("input", "tau", "text"),
    [
        ((4, 3), (0, 2), "Expected tau to have one dimension less than input, but got tau.ndim equal to 2"),
        ((4, 3), (), "Expected tau to have one dimension less than input, but got tau.ndim equal to 0"),
        ((2, 3, 3), (1, 3), r"Expected batch dimensions of tau to be equal to input.shape\[:-2\], but got \[1\]"),
    ],
)
def test_reflectors_that_do_not_belong_to_the_matrices_are_refused(input, tau, text):
    with pytest.raises(RuntimeError, match=text):
        torch.linalg.householder_product(torch.ones(input), torch.ones(tau))


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        (
            [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]],
            [[4.15306122, -3.64285714], [-6.82653061, 5.07142857], [3.05102041, -2.21428571]],
        ),
        (
            [[1.0, 3.0, 5.0], [2.0, 4.0, 7.0]],
            [[2.23469388, -3.29591837, 1.10204082], [-1.57142857, 2.28571429, -0.85714286]],
        ),
        (
            [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]],
            [[-0.01142857, -0.01265306], [-0.03142857, -0.04244898], [-0.05142857, -0.07224490]],
        ),
    ],
    ids=["tall", "wide", "of rank one"],
)
def test_gradients_of_the_pseudo_inverse_of_matrices_that_are_not_square(matrix, expected):
    """The numbers are PyTorch 2.13's."""
    a = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
    inverse = torch.linalg.pinv(a)
    (inverse * torch.arange(inverse.numel(), dtype=torch.float64).reshape(inverse.shape)).sum().backward()
    torch.testing.assert_close(a.grad, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=1e-8)


def test_an_absolute_tolerance_takes_the_place_of_the_relative_one():
    small = torch.diag(torch.tensor([1.0, 1e-8]))
    assert torch.linalg.matrix_rank(small) == 1
    assert torch.linalg.matrix_rank(small, atol=0.0) == 1  # no tolerance at all counts as none given
    assert torch.linalg.matrix_rank(small, atol=1e-9) == 2
    assert torch.linalg.matrix_rank(small, atol=torch.tensor(1e-9)) == 2
    assert torch.linalg.matrix_rank(small, rtol=1e-9) == 2
    assert torch.linalg.pinv(small)[1, 1] == 0
    assert torch.linalg.pinv(small, atol=1e-9)[1, 1] == pytest.approx(1e8)
