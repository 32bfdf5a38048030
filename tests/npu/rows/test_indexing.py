"""Slices, borders, places, orders and convolutions of Ascend's namespace beside NumPy, and gradients by their own operators."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(11)


def same(ours: torch.Tensor, theirs: Any) -> None:
    np.testing.assert_array_equal(ours.numpy(), np.asarray(theirs))


def test_parts_and_borders(numbers: np.random.Generator) -> None:
    x = numbers.normal(size=(4, 6))
    t = torch.tensor(x)
    same(npu.npu_slice(t, [1, 2], [2, 3]), x[1:3, 2:5])
    out = torch.empty(0, dtype=torch.float64)
    assert npu.npu_slice(t, [0, 0], [2, 2], out=out) is out
    same(out, x[:2, :2])
    same(npu.npu_indexing(t, [0, 1], [4, 6], [2, 2]), x[0:4:2, 1:6:2])
    same(npu.npu_indexing(t, [1, 1], [3, 2], [1, 1], 1, 2), x[:3, 1:])
    same(npu.npu_pad(t, [1, 2, 0, 3]), np.pad(x, ((1, 2), (0, 3))))
    same(npu.npu_pad(t, [1, 0]), np.pad(x, ((1, 0), (0, 0))))
    same(npu.npu_transpose(t, [1, 0]), x.T)
    same(npu.npu_reshape(t, [3, 8]), x.reshape(3, 8))
    same(npu.npu_broadcast(t[:, :1], [2, 4, 3]), np.broadcast_to(x[:, :1], (2, 4, 3)))
    same(npu.npu_stride_copy(t, [2, 2], [6, 2], 1), x.reshape(-1)[[[1, 3], [7, 9]]])
    same(npu.npu_dtype_cast(t, torch.int32), x.astype(np.int32))
    same(npu.npu_gather_sparse_index(t, torch.tensor([[3, 0]])), x[[[3, 0]]])
    same(npu.npu_sort_v2(t, 0, True), -np.sort(-x, 0))
    for ours, theirs in ((npu.npu_max(t, 1), (x.max(1), x.argmax(1))), (npu.npu_min(t, 0), (x.min(0), x.argmin(0)))):
        same(ours[0], theirs[0])
        same(ours[1], theirs[1])
        assert ours[1].dtype == torch.int32


def test_places_as_numbers(numbers: np.random.Generator) -> None:
    same(npu.npu_one_hot(torch.tensor([1, 3]), -1, 4, 5, -1), [[-1, 5, -1, -1], [-1, -1, -1, 5]])
    x = torch.tensor([[1.6279, 0.1226], [0.9041, 1.0980]])
    scattered = npu.npu_scatter(x, torch.tensor([0, 1], dtype=torch.int32), torch.tensor([-1.1993, -1.5247]), 0)
    same(scattered, np.array([[-1.1993, 0.1226], [0.9041, -1.5247]], np.float32))
    mask = torch.tensor(numbers.random((6, 7)) < 0.4)
    true = {tuple(place) for place in mask.nonzero().tolist()}
    places, kept = npu.npu_random_choice_with_mask(mask, len(true) + 2)
    assert {tuple(place) for place in places[kept].tolist()} == true and places.dtype == torch.int32
    assert kept.tolist() == [True] * len(true) + [False] * 2 and not places[~kept].any()
    chosen = npu.npu_random_choice_with_mask(mask, 3, 1, 2)[0]
    assert {tuple(place) for place in chosen.tolist()} < true and len(set(map(tuple, chosen.tolist()))) == 3
    assert torch.equal(chosen, npu.npu_random_choice_with_mask(mask, 3, 1, 2)[0])


def test_gradients_by_their_own_operators(numbers: np.random.Generator) -> None:
    x = torch.tensor(numbers.normal(size=(3, 5)), requires_grad=True)
    g = torch.tensor(numbers.normal(size=(3, 5)))
    by_operator = {
        npu.npu_fast_gelu: npu.npu_fast_gelu_backward(g, x.detach()),
        npu.npu_mish: npu.npu_mish_backward(g, x.detach()),
        npu.npu_gelu: npu.npu_gelu_backward(g, x.detach()),
        npu.npu_silu: npu.npu_silu_backward(g, x.detach(), npu.npu_silu(x.detach())),
    }
    for operator, ours in by_operator.items():
        (theirs,) = torch.autograd.grad(operator(x), x, g)
        torch.testing.assert_close(ours, theirs, atol=1e-12, rtol=1e-12)
    w = torch.tensor(numbers.normal(size=(2, 5)), requires_grad=True)
    g = torch.tensor(numbers.normal(size=(3, 2)))
    theirs = torch.autograd.grad(npu.npu_linear(x, w), (x, w), g)
    for ours, other in zip(npu.npu_linear_backward(g, x.detach(), w.detach()), theirs, strict=True):
        torch.testing.assert_close(ours, other, atol=1e-12, rtol=1e-12)


def test_convolutions_are_sums_of_windows(numbers: np.random.Generator) -> None:
    x, w, b = numbers.normal(size=(1, 2, 3, 4, 5)), numbers.normal(size=(3, 2, 2, 2, 2)), numbers.normal(size=3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2, 2), (2, 3, 4))
    expected = np.einsum("ncxyzijk,ocijk->noxyz", windows, w) + b.reshape(1, 3, 1, 1, 1)
    arguments = [1, 1, 1], [0, 0, 0], [1, 1, 1], 1
    for operator in (npu.npu_conv3d, npu.npu_convolution):
        np.testing.assert_allclose(
            operator(torch.tensor(x), torch.tensor(w), torch.tensor(b), *arguments).numpy(), expected
        )
    y, v = numbers.normal(size=(1, 2, 2, 2)), numbers.normal(size=(2, 1, 2, 2))
    spread = np.zeros((1, 1, 4, 4))
    for i in range(2):
        for j in range(2):
            spread[0, 0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2] = np.einsum("c,cij->ij", y[0, :, i, j], v[:, 0])
    for operator in (npu.npu_conv_transpose2d, npu.npu_convolution_transpose):
        ours = operator(torch.tensor(y), torch.tensor(v), None, [0, 0], [0, 0], [2, 2], [1, 1], 1)
        np.testing.assert_allclose(ours.numpy(), spread)
    t, g = numbers.normal(size=(2, 4)), numbers.normal(size=4)
    centred = (t - t.mean(1, keepdims=True)) / np.sqrt(t.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(npu.npu_layer_norm_eval(torch.tensor(t), [4], torch.tensor(g)).numpy(), centred * g)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: npu.npu_slice(torch.ones(2, 2), [0], [1]), r"npu_slice\(\): offsets \[0\] and size \[1\] must name each of the 2"),
        (lambda: npu.npu_pad(torch.ones(2), [1, 1, 1, 1]), r"npu_pad\(\): paddings must be two numbers for each of at most 1"),
        (lambda: npu.npu_one_hot(torch.tensor([1]), 0, 3), "num_classes is the new dimension's place, which must be -1"),
        (lambda: npu.npu_indexing(torch.ones(3), [0], [3], [-1]), "strides must be above 0"),
        (lambda: npu.npu_random_choice_with_mask(torch.ones(3), 2), "x must be one of bool, but it is float32"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(call: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        call()
    with pytest.raises(NotImplementedError, match="new_axis_mask is not supported"):
        npu.npu_indexing(torch.ones(3), [0], [3], [1], new_axis_mask=1)
