"""Windows, masked reductions, histograms, low-rank decompositions and methods; expected values are PyTorch 2.13's."""

import math

import numpy
import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("bartlett", {}, [0.0, 0.5, 1.0, 0.5, 0.0]),
        ("cosine", {}, [0.30901699, 0.80901699, 1.0, 0.80901699, 0.30901699]),
        ("exponential", {}, [0.13533528, 0.36787944, 1.0, 0.36787944, 0.13533528]),
        ("gaussian", {"std": 2.0}, [0.60653066, 0.8824969, 1.0, 0.8824969, 0.60653066]),
        ("hamming", {}, [0.08, 0.54, 1.0, 0.54, 0.08]),
        ("hann", {"sym": False}, [0.0, 0.3454915, 0.9045085, 0.9045085, 0.3454915]),
        ("kaiser", {}, [5.2773e-05, 0.215672745, 1.0, 0.215672745, 5.2773e-05]),
        ("general_cosine", {"a": [0.5, 0.3, 0.2]}, [0.4, 0.3, 1.0, 0.3, 0.4]),
    ],
)
def test_windows(name, options, expected):
    window = getattr(torch.signal.windows, name)(5, dtype=torch.float64, **options)
    assert window.tolist() == pytest.approx(expected, abs=1e-7)


def test_windows_refuse_what_pytorch_refuses():
    with pytest.raises(ValueError, match="hann|general_cosine expects float32 or float64 dtypes, got: torch.int64"):
        torch.signal.windows.hann(3, dtype=torch.int64)
    with pytest.raises(ValueError, match="bartlett requires non-negative window length, got M=-1"):
        torch.signal.windows.bartlett(-1)


_X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
_MASK = [[True, False, True], [False, False, False]]
_NAN, _INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("sum", (1,), [4.0, 0.0]),
        ("prod", (1,), [3.0, 1.0]),
        ("mean", (1,), [2.0, _NAN]),
        ("amax", (1,), [3.0, -_INF]),
        ("amin", (1,), [1.0, _INF]),
        ("median", (1,), [1.0, _NAN]),
        ("argmax", (1,), [2.0, 0.0]),
        ("var", (1,), [2.0, _NAN]),
        ("std", (1, False), [1.0, _NAN]),
        ("norm", (2, 1), [3.16227766, 0.0]),
        ("logsumexp", (1,), [3.12692801, -_INF]),
        ("softmax", (1,), [0.11920292, 0.0, 0.88079708, _NAN, _NAN, _NAN]),
        ("normalize", (2, 1), [0.31622777, 0.0, 0.9486833, 0.0, 0.0, 0.0]),
        ("cumsum", (1,), [1.0, 1.0, 4.0, 0.0, 0.0, 0.0]),
        ("cumprod", (1,), [1.0, 1.0, 3.0, 1.0, 1.0, 1.0]),
    ],
)
def test_masked(name, arguments, expected):
    result = getattr(torch.masked, name)(torch.tensor(_X), *arguments, mask=torch.tensor(_MASK))
    numpy.testing.assert_allclose(result.flatten().numpy(), expected, rtol=1e-6)


def test_masked_errors():
    x = torch.tensor([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        torch.masked.mean(x, 1)
    with pytest.raises(ValueError, match="masked median expects no fully masked out rows"):
        torch.masked.median(x, 1, mask=torch.tensor(_MASK))


def test_histograms():
    hist, edges = torch.histogram(torch.tensor([1.0, 2.0, 3.0, 2.0]), 3)
    assert hist.tolist() == [1.0, 2.0, 1.0]
    assert edges.tolist() == pytest.approx([1.0, 5 / 3, 7 / 3, 3.0])
    points = torch.tensor([[0.1, 0.2], [0.6, 0.7], [0.6, 0.2], [1.0, 1.0]])
    hist, edges = torch.histogramdd(points, [2, 2], range=[0.0, 1.0, 0.0, 1.0], density=True)
    assert hist.tolist() == [[1.0, 0.0], [1.0, 2.0]]
    assert [e.tolist() for e in edges] == [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]]
    assert isinstance(torch.histogramdd(points, list(edges)).bin_edges, tuple)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.histogram(x, 0), r"bins must be > 0, but got 0 for dimension 0"),
        (
            lambda x: torch.histogram(x, 3, range=(2, 1)),
            "min should not exceed max, but got min 2 max 1 for dimension 0",
        ),
        (lambda x: torch.histogram(x, torch.ones(2, 2)), "bins tensor should have one dimension, but got 2"),
        (lambda x: torch.histogramdd(x, [2]), "input tensor should have at least 2 dimensions"),
    ],
)
def test_histograms_refuse(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(torch.tensor([1.0, 2.0, 3.0, 2.0]))


def test_fill_diagonal():
    assert torch.zeros(2, 3).fill_diagonal_(5).tolist() == [[5.0, 0.0, 0.0], [0.0, 5.0, 0.0]]
    wrapped = torch.zeros(7, 3).fill_diagonal_(5, wrap=True)
    assert [i for i, row in enumerate(wrapped.tolist()) if any(row)] == [0, 1, 2, 4, 5, 6]
    assert torch.zeros(3, 3, 3).fill_diagonal_(1).sum().item() == 3
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        torch.zeros(3, 4, 3).fill_diagonal_(1)


def test_python_functions_of_elements():
    assert torch.arange(6).reshape(2, 3).t().apply_(lambda x: x + 1).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert torch.arange(3.0).map_(torch.ones(3) * 3, lambda a, b: a * b).tolist() == [0.0, 3.0, 6.0]
    with pytest.raises(RuntimeError, match=r"Use var.detach\(\).apply_\(\) instead"):
        torch.ones(2, requires_grad=True).apply_(lambda x: x)


def test_stft_is_a_method():
    x, window = torch.arange(40.0).sin(), torch.hann_window(8)
    assert torch.equal(
        x.stft(8, window=window, return_complex=True), torch.stft(x, 8, window=window, return_complex=True)
    )


@pytest.mark.parametrize(
    "name", ["bernoulli.default", "dropout.default", "rand.default", "normal_.default", "randperm.out"]
)
def test_operators_that_draw_say_so(name):
    packet, overload = name.split(".")
    assert torch.Tag.nondeterministic_seeded in getattr(getattr(torch.ops.aten, packet), overload).tags
    assert torch.Tag.nondeterministic_seeded not in torch.ops.aten.relu.default.tags


def test_weights_of_covariances():
    x = torch.tensor([[1.0, 2.0, 4.0], [0.0, 1.0, 5.0]])
    c = torch.cov(x, fweights=torch.tensor([1, 2, 1]), aweights=torch.tensor([0.5, 1.0, 1.0]), correction=0)
    assert c.flatten().tolist() == pytest.approx([1.1020408, 2.0000002, 2.0000002, 3.7142856])
    assert torch.cov(x.bfloat16(), aweights=torch.ones(3)).dtype == torch.float32
    with pytest.raises(
        RuntimeError, match="expected fweights to have integral dtype but got fweights with Float dtype"
    ):
        torch.cov(x, fweights=torch.ones(3))


def test_gradients_reach_coordinates():
    x, places = torch.tensor([1.0, 4.0, 9.0]), torch.tensor([0.0, 1.0, 3.0], requires_grad=True)
    (slopes,) = torch.gradient(x, spacing=[places])
    slopes.sum().backward()
    assert places.grad.tolist() == pytest.approx([5.1111107, -3.4999995, -1.6111112])


def test_layouts_of_flat_results():
    assert torch.ravel(torch.arange(10)[::2]).stride() == (1,)
    assert torch.unravel_index(torch.tensor([[5, 7], [2, 3]]), (4, 5))[0].stride() == (4, 2)
