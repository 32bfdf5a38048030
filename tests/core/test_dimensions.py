"""Dimensions that a tensor does not have, and those of tensors without dimensions, in compositions: PyTorch's exceptions and texts."""

import pytest
from agreement import same, same_error

from mindtorch_v2._core.dimensions import wrap_dim

CALLS = [
    "torch.quantile(x, 0.5, d)", "torch.gradient(x, dim=d)", "torch.movedim(x, d, 0)", "torch.rot90(x, 1, (0, d))",
    "torch.fft.hfftn(x, dim=(d,))", "torch.take_along_dim(x, x.long(), d)", "torch.linalg.matrix_norm(x, dim=(0, d))",
    "torch.segment_reduce(x, 'sum', lengths=x.long(), axis=d)", "x.to_sparse().transpose(0, d)",
    "torch.func.vmap(lambda y: y.sum(d))(x[None])",
]  # fmt: skip


def ran(call, shape, dim):
    return lambda torch: eval(call, {"torch": torch, "x": torch.zeros(shape), "d": dim})


@pytest.mark.parametrize("dim", [2, -3])
@pytest.mark.parametrize("call", CALLS)
def test_one_too_many(call, dim):
    same_error(ran(call, (2, 2), dim))


@pytest.mark.parametrize(
    "call", [each for each in CALLS if "hfftn" in each or "take_along" in each or "gradient" in each]
)
def test_of_a_tensor_without_dimensions(call):
    same_error(ran(call, (), 1))
    same_error(ran(call, (), 0))


@pytest.mark.parametrize("dim", [0, -1])
def test_a_tensor_without_dimensions_takes_two(dim):
    same(lambda torch: torch.quantile(torch.ones(()), 0.5, dim))
    same(lambda torch: torch.movedim(torch.ones(()), dim, 0))
    same(lambda torch: torch.ones(()).to_sparse().transpose(0, dim).shape)
    assert wrap_dim(dim, 0) == 0


@pytest.mark.parametrize("pivots", [[1, 5], [0, 1]])
def test_pivots_of_no_row(pivots):
    same_error(lambda torch: torch.lu_unpack(torch.eye(2), torch.tensor(pivots, dtype=torch.int32)))
