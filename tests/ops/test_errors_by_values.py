"""Errors that the values of tensors decide: raised where the call stands, so that a compiled program catches them as well."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import every_row

pytestmark = pytest.mark.no_torch

_NOT_A_NUMBER = torch.full((2, 2), float("nan"))
_ZEROS, _ONES, _NEGATIVE = torch.zeros(2, 2), torch.ones(2, 2), -torch.eye(2)
_LINALG = torch.linalg
# The operator that raises, a call of it, and how PyTorch 2.13's message begins.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "_assert_async": (lambda: torch._assert_async(torch.tensor(0)), "Expected Tensor with single nonzero value"),
    "_assert_async.msg": (lambda: torch._assert_async(torch.tensor(0), "said"), "said"),
    "_test_check_tensor": (lambda: torch._test_check_tensor(torch.zeros(2)), "Test message for TORCH_CHECK_TENSOR_ALL"),
    "cholesky": (lambda: torch.cholesky(_NEGATIVE), "cholesky: The factorization could not be completed"),
    "cholesky_inverse": (lambda: torch.cholesky_inverse(_ZEROS), "cholesky_inverse: The diagonal element 1 is zero"),
    "fake_quantize_per_channel_affine_cachemask": (
        lambda: torch.fake_quantize_per_channel_affine(
            torch.ones(2), torch.ones(2), torch.tensor([0, 99]).int(), 0, 0, 15
        ),
        "`zero_point` must be between",
    ),
    "inverse": (lambda: torch.inverse(_ZEROS), "linalg.inv: The diagonal element 1 is zero"),
    "linalg_cholesky": (lambda: _LINALG.cholesky(_NEGATIVE), "linalg.cholesky: The factorization"),
    "linalg_eig": (lambda: _LINALG.eig(_NOT_A_NUMBER), "torch.linalg.eig: input tensor should not contain"),
    "linalg_eigvals": (lambda: _LINALG.eigvals(_NOT_A_NUMBER), "torch.linalg.eig: input tensor should not contain"),
    "linalg_inv": (lambda: _LINALG.inv(_ZEROS), "linalg.inv: The diagonal element 1 is zero"),
    "linalg_ldl_factor": (lambda: _LINALG.ldl_factor(_ZEROS), "torch.linalg.ldl_factor: "),
    "linalg_lu_factor": (lambda: _LINALG.lu_factor(_ZEROS), r"torch.linalg.lu_factor: U\[1,1\] is zero"),
    "linalg_solve": (lambda: _LINALG.solve(_ZEROS, _ONES), "torch.linalg.solve: The solver failed"),
    "linalg_svd": (lambda: _LINALG.svd(_NOT_A_NUMBER), "linalg.svd: The algorithm failed to converge"),
    "linalg_svdvals": (lambda: _LINALG.svdvals(_NOT_A_NUMBER), "linalg.svd: The algorithm failed to converge"),
    "linalg_tensorinv": (lambda: _LINALG.tensorinv(_ZEROS, 1), "linalg.inv: The diagonal element 1 is zero"),
    "linalg_tensorsolve": (lambda: _LINALG.tensorsolve(_ZEROS, torch.ones(2)), "torch.linalg.solve: The solver"),
    "lu_solve": (
        lambda: torch.lu_solve(_ONES, _ZEROS, torch.tensor([5, 6], dtype=torch.int32)),
        "Pivots given to lu_solve must all be smaller",
    ),
    "multinomial": (lambda: torch.multinomial(-_ONES, 1), "probability tensor contains either `inf`, `nan` or"),
}
# Those that LAPACK refuses for some values, and that no small matrix was found for.
UNSEEN = {"_assert_scalar", "linalg_eigh", "linalg_eigvalsh", "linalg_lstsq", "linalg_solve_triangular"}


def test_each_is_known() -> None:
    assert {row.name for row in every_row().values() if row.facts.raises_by_values} == {*CALLS, *UNSEEN}


@pytest.mark.parametrize("name", CALLS)
def test_a_program_catches_it(name: str) -> None:
    call, message = CALLS[name]
    with pytest.raises(RuntimeError, match=message):
        call()

    def program(x: Any) -> Any:
        try:
            made = call()
        except RuntimeError:
            return x * 2
        made = made[0] if isinstance(made, tuple) else made
        return x * 3 if made is None else x * 3 + made.abs().sum()

    x = torch.ones(2)
    assert program(x).tolist() == [2.0, 2.0]
    assert torch.compile(program)(x).tolist() == [2.0, 2.0]


def test_the_first_matrix_that_cannot_be_inverted_is_named() -> None:
    factors = torch.stack([torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]])])
    for upper in (False, True):
        with pytest.raises(
            torch.linalg.LinAlgError, match=r"cholesky_inverse: \(Batch element 1\): The diagonal element 2"
        ):
            torch.cholesky_inverse(factors, upper)
    assert torch.cholesky_inverse(torch.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert torch.cholesky_inverse(torch.empty(0, 0)).shape == (0, 0)
    assert (
        torch.func.vmap(torch.cholesky_inverse)(2 * torch.eye(2).expand(3, 2, 2)).tolist()
        == [[[0.25, 0], [0, 0.25]]] * 3
    )
