"""Corners of linear algebra, with the values and texts of PyTorch 2.13."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize("ord", [1, 2, float("inf"), "nuc", "fro"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_norms_of_nothing(ord, shape):
    assert torch.linalg.matrix_norm(torch.ones(shape), ord) == 0


@pytest.mark.parametrize(
    "driver, rcond, rank", [("gelsd", 1.0, 2), ("gelsd", -1.0, 2), ("gelss", 1.0, 0), ("gelsd", 0.5, 1)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_singular_values_that_count_as_zero(driver, rcond, rank, dtype):
    a = torch.diag(torch.tensor([4.0, 1.0], dtype=dtype))
    found = torch.linalg.lstsq(a, torch.ones(2, 1, dtype=dtype), rcond=rcond, driver=driver)
    assert found.rank == rank


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_removed_functions_say_so(name):
    arguments = (torch.eye(2),) * (2 if name in ("lstsq", "solve") else 1)
    with pytest.raises(RuntimeError, match="deprecated since version 1.9 and is now removed"):
        getattr(torch, name)(*arguments)
    if name != "matrix_rank":
        with pytest.raises(RuntimeError, match="deprecated since version 1.9 and is now removed"):
            getattr(torch.eye(2), name)(*arguments[1:])


def test_the_condition_of_a_singular_matrix_by_the_nuclear_norm():
    assert torch.linalg.cond(torch.diag(torch.tensor([1.0, 0.0])), "nuc") == float("inf")


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: torch.linalg.multi_dot([x, x.double()]), RuntimeError, "tensor 0 is float and tensor 1 double"),
        (lambda x: torch.linalg.multi_dot([x[0, 0], x]), RuntimeError, "the first tensor must be 1D or 2D but got 0D"),
        (lambda x: torch.chain_matmul(), RuntimeError, r"chain_matmul\(\): Expected one or more matrices"),
        (lambda x: torch.linalg.norm(x[0], "fro"), RuntimeError, "must have at least 2 dimensions"),
        (lambda x: torch.linalg.matrix_norm(x, dim=(0, 2)), IndexError, r"range of \[-2, 1\], but got 2"),
        (lambda x: torch.addr(x, x[0], x[0], beta=True), RuntimeError, "Boolean beta only supported for Boolean"),
        (
            lambda x: torch.addr(x.long(), x[0].long(), x[0].long(), alpha=2.0),
            RuntimeError,
            "argument alpha must not be",
        ),
        (lambda x: torch.backends.cuda.preferred_linalg_library("magma"), RuntimeError, "not been compiled with MAGMA"),
        (lambda x: torch.backends.cuda.preferred_blas_library("none"), RuntimeError, "Choose from: default, cublas"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(2, 2))


def test_pivots_are_looked_at():
    factors, pivots = torch.linalg.lu_factor(torch.eye(2))
    for wrong, text in ((0, "greater or equal to 1"), (3, r"smaller or equal to LU.size\(-2\)")):
        pivots[0] = wrong
        with pytest.raises(RuntimeError, match=text):
            torch.linalg.lu_solve(factors, pivots, torch.ones(2, 1))
        with pytest.raises(RuntimeError, match="must be between 1 and LU.size"):
            torch.lu_unpack(factors, pivots)


def test_conditions_of_several_matrices():
    x = torch.diag_embed(torch.tensor([[1.0, 2.0], [8.0, 2.0], [3.0, 3.0]]))
    assert torch.linalg.cond(x, -2).tolist() == [0.5, 0.25, 1.0]
    assert torch.linalg.cond(x, 2).tolist() == [2.0, 4.0, 1.0]
