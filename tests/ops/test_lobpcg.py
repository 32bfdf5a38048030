"""`lobpcg` against the whole decomposition."""

import pytest

import mindtorch_v2 as torch


def _symmetric(*shape, dtype=torch.float64, seed=0):
    a = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))
    return a @ a.mT + torch.eye(shape[-1], dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("largest", [True, False])
def test_extreme_pairs(dtype, largest):
    a = _symmetric(30, 30, dtype=dtype)
    x = torch.randn(30, 3, dtype=dtype, generator=torch.Generator().manual_seed(1))
    values, vectors = torch.lobpcg(a, X=x, largest=largest)
    every = torch.linalg.eigvalsh(a)
    wanted = every[-3:].flip(0) if largest else every[:3]
    # What the default tolerance leaves of the residuals, relative to the sizes of A and of its eigenvalue.
    left = 2 * a.norm().item() * torch.finfo(dtype).eps ** 0.5
    torch.testing.assert_close(values, wanted, rtol=0, atol=left)
    torch.testing.assert_close(a @ vectors, vectors * values, rtol=0, atol=left)
    torch.testing.assert_close(vectors.mT @ vectors, torch.eye(3, dtype=dtype), rtol=0, atol=1e-5)


def test_the_general_problem_with_a_preconditioner():
    a, b = _symmetric(20, 20), torch.diag(torch.arange(1.0, 21.0, dtype=torch.float64))
    values, vectors = torch.lobpcg(a, k=2, B=b, iK=torch.linalg.inv(a), largest=False, tol=1e-10)
    torch.testing.assert_close(values, torch.linalg.eigvals(torch.linalg.solve(b, a)).real.sort().values[:2])
    torch.testing.assert_close(a @ vectors, b @ vectors * values, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(vectors.mT @ b @ vectors, torch.eye(2, dtype=torch.float64))


def test_batches_and_fewer_pairs_than_columns():
    a = torch.stack([_symmetric(15, 15), 2 * _symmetric(15, 15, seed=1)]).unsqueeze(0)
    values, vectors = torch.lobpcg(a, k=1, n=3)
    assert values.shape == (1, 2, 1) and vectors.shape == (1, 2, 15, 1)
    torch.testing.assert_close(values, torch.linalg.eigvalsh(a)[..., -1:])
    assert torch.lobpcg(a[0, 0])[0].shape == (1,)


def test_gradients_are_those_of_the_whole_decomposition():
    a = _symmetric(12, 12).requires_grad_()
    weight = torch.arange(24.0, dtype=torch.float64).view(12, 2)
    values, vectors = torch.lobpcg(a, k=2, niter=-1, tol=1e-12)
    (grad,) = torch.autograd.grad((vectors.abs() * weight).sum() + (values**2).sum(), a)
    values, vectors = torch.linalg.eigh(a)
    (wanted,) = torch.autograd.grad((vectors[:, -2:].flip(1).abs() * weight).sum() + (values[-2:] ** 2).sum(), a)
    torch.testing.assert_close(grad, wanted)


def test_errors():
    a = _symmetric(8, 8)
    for kind, text, call in (
        (ValueError, r"number of A rows \(=8\) is smaller than 3 x the number of requested eigenpairs \(=3\)",
         lambda: torch.lobpcg(a, 3)),
        (AssertionError, "A must be square", lambda: torch.lobpcg(a[:5], 1)),
        (RuntimeError, "real floating dtype, but got torch.int64", lambda: torch.lobpcg(a.long(), 1)),
        (NotImplementedError, "tracker is not implemented", lambda: torch.lobpcg(a, 1, tracker=print)),
        (ValueError, "does not support backward with B != I",
         lambda: torch.lobpcg(a.clone().requires_grad_(), 1, B=a)[0].sum().backward()),
    ):  # fmt: skip
        with pytest.raises(kind, match=text):
            call()
