"""Under vmap an operator takes slices of as many dimensions as it takes tensors: all slices at once have more."""

import pytest

import mindtorch_v2 as torch

CALLS = {
    "inverse": (torch.inverse, (2, 2)),
    "cholesky": (torch.linalg.cholesky, (2, 2)),
    "qr": (lambda x: torch.linalg.qr(x)[0], (2, 2)),
    "lu_factor": (lambda x: torch.linalg.lu_factor(x)[0], (2, 2)),
    "matrix_exp": (torch.linalg.matrix_exp, (2, 2)),
    "logdet": (torch.logdet, (2, 2)),
    "trace of more": (torch.trace, (2, 2, 2, 2)),
    "tril": (torch.tril, (2,)),
    "dot of numbers": (lambda x: x.dot(x), (2,)),
    "dot of matrices": (lambda x: x.dot(x), (2, 2, 2)),
    "vdot of matrices": (lambda x: torch.vdot(x, x), (2, 2, 2)),
    "mv of vectors": (lambda x: x.mv(x), (2, 2)),
    "mv of matrices": (lambda x: x.mv(x), (2, 2, 2)),
    "addmv": (lambda x: x.addmv(x, x), (2, 2)),
    "baddbmm": (lambda x: x.baddbmm(x, x), (2, 2, 2)),
    "addbmm": (lambda x: x.addbmm(x, x), (2, 2, 2)),
    "cdist": (lambda x: torch.cdist(x, x), (2, 2)),
    "pdist": (torch.pdist, (2, 2)),
    "select": (lambda x: x.select(0, 0), (2,)),
    "narrow": (lambda x: x.narrow(0, 0, 1), (2,)),
    "narrow from behind": (lambda x: x.narrow(-1, 0, 1), (2,)),
    "split": (lambda x: x.split(1)[0], (2,)),
    "unbind": (lambda x: x.unbind()[0], (2,)),
    "index_select": (lambda x: x.index_select(0, torch.zeros(2, 2, dtype=torch.int64)), (2, 2, 2)),
    "index_fill": (lambda x: x.index_fill(0, torch.zeros(2, 2, dtype=torch.int64), 1), (2, 2, 2)),
    "bucketize": (lambda x: torch.bucketize(x, x), (2, 2, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_slices_that_the_operator_does_not_take(name) -> None:
    function, shape = CALLS[name]
    x = torch.ones(shape)
    with pytest.raises((RuntimeError, IndexError)):
        function(x[0])
    for _ in range(2):  # what was refused once is refused again
        with pytest.raises((RuntimeError, IndexError)):
            torch.vmap(function)(x)
    with pytest.raises((RuntimeError, IndexError)):
        torch.vmap(torch.vmap(function))(x.unsqueeze(0))


def test_slices_that_it_takes() -> None:
    x = torch.arange(8.0).reshape(2, 2, 2) + torch.eye(2)
    assert torch.vmap(torch.trace)(x).tolist() == [5.0, 13.0]
    assert torch.vmap(torch.dot)(x[0], x[1]).tolist() == [10.0, 44.0]
    assert torch.equal(torch.vmap(torch.inverse)(x), torch.inverse(x))
    assert torch.vmap(lambda y: y.cumsum(0))(x[0, 0]).tolist() == x[0, 0].tolist()
