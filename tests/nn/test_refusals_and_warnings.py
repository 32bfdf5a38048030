"""Small ways of layers and losses that refuse or warn, in PyTorch's words."""

import pytest
from agreement import same, same_error

import mindtorch_v2 as torch


@pytest.mark.parametrize("wrong", ["query", "key", "value"])
def test_projections_of_wrong_sizes(wrong):
    def project(torch):
        weights = {name: torch.ones(4, 4) for name in ("query", "key", "value")}
        weights[wrong] = torch.ones(4, 3)
        x = torch.ones(2, 4)
        torch.nn.functional._in_projection(x, x, x, *weights.values())

    same_error(project)


@pytest.mark.parametrize("affine", [False, True])
def test_features_that_an_instance_norm_does_not_expect(affine):
    layer, x = torch.nn.InstanceNorm1d(3, affine=affine), torch.ones(2, 4, 5)
    if affine:
        with pytest.raises(ValueError, match=r"input's size at dim=1 to match num_features \(3\), but got: 4"):
            layer(x)
    else:
        with pytest.warns(UserWarning, match="input's size at dim=1 does not match num_features. You can silence"):
            assert layer(x).shape == x.shape


@pytest.mark.parametrize("dims", [2, 3, 4])
def test_dimensions_of_a_lazy_instance_norm(dims):
    def apply(torch):
        try:
            return list(torch.nn.LazyInstanceNorm1d()(torch.arange(2.0**dims).view([2] * dims)).shape)
        except ValueError as error:
            return str(error)

    same(apply)


def test_a_schedule_has_its_optimizer():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
    schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 0.01, 0.1)
    assert schedule.optimizer is optimizer


def test_names_that_autograd_has_not():
    assert not hasattr(torch.autograd, "no_such_name")
    with pytest.raises(AttributeError, match="module '(mindtorch_v2|torch).autograd' has no attribute 'no_such_name'"):
        torch.autograd.no_such_name


def test_gradients_of_what_vmap_maps_over():
    x = torch.ones(3, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"):
        torch.func.vmap(lambda row: torch.autograd.grad((row * row).sum(), row))(x)


@pytest.mark.parametrize("size", [1, 3])
def test_solving_for_a_vector_from_the_right(size):
    def solve(torch):
        torch.linalg.solve(torch.eye(size), torch.ones(size), left=False)

    same_error(solve)
