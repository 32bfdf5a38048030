"""`segment_reduce`: ties, empty segments and what is not a segmentation. The numbers are PyTorch 2.13's."""

import math

import pytest

import mindtorch_v2 as torch

X = torch.arange(6.0)
NAN, INF = math.nan, math.inf


def lengths(*values):
    return torch.tensor(values)


@pytest.mark.parametrize(
    ("reduce", "initial", "expected"),
    [
        ("sum", None, [15.0, 0.0]),
        ("max", None, [5.0, -INF]),
        ("mean", None, [2.5, NAN]),
        ("prod", None, [0.0, 1.0]),
        ("mean", 3, [3.0, 3.0]),
        ("amax", 7, [7.0, 7.0]),
    ],
)
def test_an_empty_segment(reduce, initial, expected):
    got = torch.segment_reduce(X, reduce, lengths=lengths(6, 0), initial=initial)
    torch.testing.assert_close(got, torch.tensor(expected), equal_nan=True)


def test_a_number_that_is_not_one_is_the_maximum():
    got = torch.segment_reduce(torch.tensor([1.0, NAN, 3.0]), "max", lengths=lengths(1, 2))
    assert got.tolist()[0] == 1.0 and math.isnan(got.tolist()[1])


def test_offsets_may_leave_elements_out():
    assert torch.segment_reduce(X, "sum", offsets=lengths(0, 2, 4)).tolist() == [1.0, 5.0]
    assert torch.segment_reduce(X, "sum", offsets=lengths(1, 2, 6)).tolist() == [1.0, 14.0]
    assert torch.segment_reduce(X, "sum", lengths=lengths(1, 2), unsafe=True).tolist() == [0.0, 3.0]


def test_rows_with_segments_of_their_own():
    got = torch.segment_reduce(X.view(2, 3), "sum", lengths=torch.tensor([[1, 2], [3, 0]]), axis=1)
    assert got.tolist() == [[0.0, 3.0], [12.0, 0.0]]


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        ("max", [0.5, 0.5, 1.0, 1.0, 0.0]),
        ("mean", [0.5, 0.5, 2 / 3, 2 / 3, 2 / 3]),
        ("prod", [1.0, 1.0, 0.0, 0.0, 8.0]),
        ("min", [0.5, 0.5, 0.0, 0.0, 2.0]),
        ("sum", [1.0, 1.0, 2.0, 2.0, 2.0]),
    ],
)
@pytest.mark.parametrize("initial", [None, 1.0])
def test_gradients_of_ties_and_zeros(reduce, expected, initial):
    x = torch.tensor([1.0, 1.0, 2.0, 2.0, 0.0], requires_grad=True)
    y = torch.segment_reduce(x, reduce, lengths=lengths(2, 3, 0), initial=initial)
    (got,) = torch.autograd.grad(y, x, torch.tensor([1.0, 2.0, 4.0]))
    torch.testing.assert_close(got, torch.tensor(expected))
    assert y.grad_fn.name() == "SegmentReduceBackward0"


@pytest.mark.parametrize(
    ("kind", "text", "call"),
    [
        (RuntimeError, "Either lengths or offsets", lambda: torch.segment_reduce(X, "sum")),
        (RuntimeError, "to sum to data.size", lambda: torch.segment_reduce(X, "sum", lengths=lengths(1, 2))),
        (RuntimeError, "negative value", lambda: torch.segment_reduce(X, "sum", lengths=lengths(7, -1))),
        (RuntimeError, "got bad", lambda: torch.segment_reduce(X, "bad", lengths=lengths(6))),
        (RuntimeError, "indices based", lambda: torch.segment_reduce(X, "sum", indices=lengths(0, 0, 0, 1, 1, 1))),
        (
            NotImplementedError,
            "_segment_reduce_cpu\" not implemented for 'Long'",
            lambda: torch.segment_reduce(X.long(), "sum", lengths=lengths(6)),
        ),
        (
            RuntimeError,
            "axis to be the last dimension of lengths but got 1",
            lambda: torch.segment_reduce(X.view(2, 3), "sum", lengths=lengths(1, 2), axis=1),
        ),
        (IndexError, "got 2", lambda: torch.segment_reduce(X, "sum", lengths=lengths(6), axis=2)),
    ],
)
def test_errors(kind, text, call):
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_lengths_and_offsets_in_whole_numbers(dtype):
    parts = {"lengths": torch.tensor([2, 0, 4], dtype=dtype)}, {"offsets": torch.tensor([0, 2, 2, 6], dtype=dtype)}
    for each in parts:
        assert torch.segment_reduce(X, "max", **each, initial=-1.0).tolist() == [1.0, -1.0, 5.0]
        assert torch.segment_reduce(X, "sum", **each).tolist() == [1.0, 0.0, 14.0]


@pytest.mark.parametrize("name", ["lengths", "offsets"])
def test_lengths_and_offsets_in_other_numbers(name):
    for dtype in (torch.int16, torch.float32):
        with pytest.raises(NotImplementedError, match=f'"_segment_reduce_{name}_cpu_kernel1" not implemented for'):
            torch.segment_reduce(X, "max", **{name: torch.tensor([0, 6], dtype=dtype)})


def test_products_beside_a_nan():
    x = torch.tensor([1, math.nan, 3, 4, 5], requires_grad=True)
    made = torch.segment_reduce(x, "prod", lengths=torch.tensor([1, 2, 2]))
    made.sum().backward()
    assert x.grad.isnan().tolist() == [False, False, True, False, False]
    assert x.grad[[0, 1, 3, 4]].tolist() == [1, 3, 5, 4]
