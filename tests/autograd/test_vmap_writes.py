"""Calls that write to the slices of vmap, draw numbers for them, or have no slice at all. The numbers are PyTorch 2.13's."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.func import grad, vmap
from mindtorch_v2.nn import functional as F


def test_written_positions_reach_memory_that_the_mapped_dimensions_do_not_lie_together_in() -> None:
    """Two vmaps over the first and the last dimension: one could not make one dimension of them without a copy."""

    def write(v: Any) -> Any:
        v[torch.tensor([0, 2])] = torch.tensor([1.0, 2.0])
        return v

    x = torch.zeros(2, 3, 4)
    made = vmap(vmap(write), in_dims=2)(x)
    assert made.tolist() == [[[1.0, 0.0, 2.0]] * 2] * 4
    assert x.tolist() == [[[1.0] * 4, [0.0] * 4, [2.0] * 4]] * 2


def test_slices_that_have_no_rule_are_written_to_one_after_the_other() -> None:
    @torch.library.custom_op("test_vmap_writes::negate_", mutates_args=("x",))
    def negate_(x: torch.Tensor) -> None:
        x.neg_()

    x = torch.arange(12.0).reshape(2, 3, 2)
    with pytest.warns(UserWarning, match="performance drop"):
        vmap(vmap(lambda v: (negate_(v), v)[1]), in_dims=2)(x)
    assert x.tolist() == (-torch.arange(12.0)).reshape(2, 3, 2).tolist()


@pytest.mark.parametrize("values", [torch.arange(9.0).reshape(3, 3), None])
def test_a_mask_behind_whole_dimensions(values: Any) -> None:
    mask = torch.tensor([True, True, False, True])
    each = torch.arange(18.0).reshape(2, 3, 3)

    def write(a: Any, own: Any) -> Any:
        a = a.clone()
        a[:, mask] = own if values is None else values
        return a

    made = vmap(write)(torch.zeros(2, 3, 4), each)
    first = [[0.0, 1.0, 0.0, 2.0], [3.0, 4.0, 0.0, 5.0], [6.0, 7.0, 0.0, 8.0]]
    second = [[9.0, 10.0, 0.0, 11.0], [12.0, 13.0, 0.0, 14.0], [15.0, 16.0, 0.0, 17.0]]
    assert made.tolist() == [first, second if values is None else first]
    assert vmap(lambda a: a[:, mask])(made).tolist()[0] == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]


def test_positions_parted_by_a_whole_dimension() -> None:
    places = torch.tensor([0, 1])

    def write(a: Any) -> Any:
        a = a.clone()
        a[places, :, places] = torch.arange(8.0).reshape(2, 4)
        return a

    made = vmap(write)(torch.zeros(2, 3, 4, 5))
    for each in made:
        assert each[0, :, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
        assert each[1, :, 1].tolist() == [4.0, 5.0, 6.0, 7.0]
        assert each.sum().item() == 28.0


ONE_FOR_ALL: dict[str, Callable] = {
    "copy_": lambda a, b: a.copy_(b),
    "put_": lambda a, b: a.put_(torch.tensor([0]), b),
    "scatter_": lambda a, b: a.scatter_(0, b.long(), 1.0),
    "index_add_": lambda a, b: a.index_add_(0, torch.tensor([0]), b),
    "index_put_": lambda a, b: a.index_put_((torch.tensor([0]),), b[0]),
    "setitem": lambda a, b: a.__setitem__(0, b[0]),
    "fill_": lambda a, b: a.fill_(b[0]),
    "out": lambda a, b: torch.add(b, 1, out=a),
}


@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_slices_do_not_fit_in_what_is_the_same_for_all(name: str) -> None:
    x = torch.ones(1)
    with pytest.raises(
        RuntimeError, match=r"vmap: aten::\w+\(self, \*extra_args\) is not possible because there exists"
    ):
        vmap(ONE_FOR_ALL[name], in_dims=(None, 0))(x, torch.zeros(2, 1))
    assert x.tolist() == [1.0]


@pytest.mark.parametrize("change", [lambda v: v.resize_(4), lambda v: v.set_(), lambda v: v.set_(torch.ones(3))])
def test_a_slice_has_no_memory_of_its_own(change: Callable) -> None:
    with pytest.raises(RuntimeError, match="the memory of a slice is not its own"):
        vmap(change, in_dims=1)(torch.ones(2, 2))


def test_slices_that_lie_one_after_the_other_are_resized_at_once() -> None:
    whole = torch.zeros(3, 2)
    assert vmap(lambda v: v.resize_(4).fill_(1))(whole).tolist() == [[1] * 4] * 3
    assert whole.tolist() == [[1] * 4] * 3


DRAWS: dict[str, tuple[Callable, list]] = {
    "uniform_": (lambda x: x.clone().uniform_(), [0.4963, 0.7682, 0.0885]),
    "bernoulli_": (lambda x: x.clone().bernoulli_(0.5), [0.0, 0.0, 1.0]),
    "random_": (lambda x: x.clone().random_(5), [4.0, 4.0, 3.0]),
    "exponential_": (lambda x: x.clone().exponential_(), [3.5083, 1.2304, 0.6150]),
    "new": (lambda x: torch.zeros(3).normal_(), [1.5410, -0.2934, -2.1788]),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_numbers_for_every_slice_in_place(name: str) -> None:
    draw, expected = DRAWS[name]
    torch.manual_seed(0)
    made = vmap(draw, randomness="same")(torch.ones(2, 3))
    assert made.shape == (2, 3)
    assert (made - torch.tensor(expected)).abs().max() < 1e-4


def test_different_numbers_do_not_fit_in_one_tensor() -> None:
    with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness on an unbatched tensor"):
        vmap(lambda x: x + torch.zeros(3).normal_(), randomness="different")(torch.ones(2, 3))


NOTHING: dict[str, tuple[Callable, list]] = {
    "argmax": (lambda a: a.argmax(), [0]),
    "max": (lambda a: a.max(), [0]),
    "prod": (lambda a: a.prod(), [0]),
    "count_nonzero": (lambda a: a.count_nonzero(), [0]),
    "roll": (lambda a: a.roll(1), [0, 3]),
    "searchsorted": (lambda a: torch.searchsorted(a, a), [0, 3]),
    "conv1d": (lambda a: F.conv1d(a[None, None], torch.ones(5, 1, 2)), [0, 1, 5, 2]),
    "attention": (lambda a: F.scaled_dot_product_attention(*[a[None, None, :, None]] * 3), [0, 1, 1, 3, 1]),
    "group_norm": (lambda a: F.group_norm(a[None, :, None].expand(1, 3, 2), 3), [0, 1, 3, 2]),
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_slice_at_all(name: str) -> None:
    program, shape = NOTHING[name]
    assert list(vmap(program)(torch.ones(0, 3)).shape) == shape


def test_exponentials_of_matrices() -> None:
    made = vmap(torch.linalg.matrix_exp)(torch.ones(2, 2, 2))
    assert (made - torch.tensor([[4.1945, 3.1945], [3.1945, 4.1945]])).abs().max() < 1e-4
    slopes = vmap(grad(lambda a: torch.linalg.matrix_exp(a).trace()))(torch.zeros(2, 2, 2))
    assert slopes.tolist() == [[[1.0, 0.0], [0.0, 1.0]]] * 2


def test_gradients_within_vmap_of_what_is_mapped_are_refused_as_in_pytorch():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    for call in (
        lambda x: torch.autograd.grad((x * w).sum(), w),
        lambda x: torch.autograd.grad(x * x, x, torch.ones(2)),
    ):
        with pytest.raises(
            RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
        ):
            torch.vmap(call)(torch.ones(3, 2, requires_grad=True))
