"""Names of the package functorch, and what the transforms do not go with."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._functorch import deprecated
from mindtorch_v2._functorch.eager_transforms import _slice_argnums


@pytest.mark.parametrize(
    "name, successor",
    [
        ("grad", "torch.func.grad"),
        ("jacfwd", "torch.func.jacfwd"),
        ("vmap", "torch.vmap"),
        ("functionalize", "torch.func.functionalize"),
    ],
)
def test_functorchs_names_say_where_they_went(name, successor):
    with pytest.warns(FutureWarning, match=f"Please use `{successor}` instead"):
        made = getattr(deprecated, name)(torch.sin)
    assert torch.allclose(made(torch.tensor([0.5]))[0] if name == "vmap" else made(torch.tensor(0.5)), _expected(name))


def _expected(name):
    x = torch.tensor(0.5)
    return x.cos() if name in ("grad", "jacfwd") else x.sin()


def test_arguments_by_number():
    args = ("a", "b", "c")
    assert _slice_argnums(args, 0) == ("a",)
    assert _slice_argnums(args, 0, as_tuple=False) == "a"
    assert _slice_argnums(args, (2, -3)) == ("c", "a")
    with pytest.raises(RuntimeError, match="unique"):
        _slice_argnums(args, (0, -3))


@pytest.mark.parametrize("transform", [torch.func.vmap, torch.func.jacrev])
def test_autograd_functional_is_refused_within_a_transform(transform):
    def program(x):
        return torch.autograd.functional.jacobian(lambda y: y.sin().sum(), x)

    with pytest.raises(RuntimeError, match=r"torch\.autograd\.functional"):
        transform(program)(torch.ones(2, 3))
