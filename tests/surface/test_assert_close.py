"""`torch.testing`: texts and decisions of `assert_close`, and what `make_tensor` makes."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.testing import assert_close, make_tensor

T = torch.tensor

# The texts are PyTorch 2.13's, recorded by running it.
FAILURES = [
    (
        lambda: assert_close(T([[1.0, 2.0], [3.0, 4.0]]), T([[1.0, 2.5], [3.0, 9.0]])),
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 5.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5555555820465088 at index (1, 1) (up to 1.3e-06 allowed)",
    ),
    (
        lambda: assert_close(T(1.0), T(2.0)),
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)",
    ),
    (
        lambda: assert_close(1, 2),
        "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5",
    ),
    (lambda: assert_close(1, 1.0), "The (d)types do not match: <class 'int'> != <class 'float'>."),
    (lambda: assert_close(True, False), "Booleans mismatch: True is not False"),
    (lambda: assert_close(None, 1), "None mismatch: None is not 1"),
    (
        lambda: assert_close(T([1, 2]), T([1.0, 2.0])),
        "The values for attribute 'dtype' do not match: torch.int64 != torch.float32.",
    ),
    (
        lambda: assert_close(T([1.0]), T([1.0, 2.0])),
        "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2]).",
    ),
    (lambda: assert_close([1, 2], [1]), "The length of the sequences mismatch: 2 != 1"),
    (
        lambda: assert_close({"a": T(1.0)}, {"b": T(1.0)}),
        "The keys of the mappings do not match:\nMissing keys in the actual mapping: ['b']\n"
        "Additional keys in the actual mapping: ['a']",
    ),
    (
        lambda: assert_close({"a": {"b": T(1.0)}}, {"a": {"b": T(2.0)}}),
        "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)\n"
        "Relative difference: 0.5 (up to 1.3e-06 allowed)\n\nThe failure occurred for item ['a']['b']",
    ),
    (
        lambda: assert_close(T([200, 3], dtype=torch.uint8), T([100, 3], dtype=torch.uint8)),
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 100 at index (0,)\nGreatest relative difference: 1.0 at index (0,)",
    ),
    (lambda: assert_close(T([1.0]), T([2.0]), msg="said so"), "said so"),
    (lambda: assert_close(T(1), T(2), msg=lambda text: "X " + text.split("!")[0]), "X Scalars are not equal"),
]


@pytest.mark.parametrize(("call", "text"), FAILURES)
def test_failures(call, text):
    with pytest.raises(AssertionError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "call",
    [
        lambda: assert_close(None, None),
        lambda: assert_close([1.0], (1.0,)),
        lambda: assert_close(T([]), T([])),
        lambda: assert_close(T([float("nan")]), T([float("nan")]), equal_nan=True),
        lambda: assert_close(T([float("inf"), 1.0]), T([float("inf"), 1.0])),
        lambda: assert_close(T([1.0], dtype=torch.float16), T([1.0]), check_dtype=False),
        lambda: assert_close(torch.nn.Parameter(T([1.0])), T([1.0])),
        lambda: assert_close(T([1.0]), T([1.05]), rtol=0.1, atol=0.0),
    ],
)
def test_close(call):
    call()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: assert_close("a", "b"), "No comparison pair was able to handle inputs of type <class 'str'>"),
        (lambda: assert_close(1.0, T(1.0)), "No comparison pair was able to handle inputs of type <class 'float'>"),
        (lambda: assert_close(torch.nn.Parameter(T([1.0])), T([1.0]), allow_subclasses=False), "No comparison pair"),
    ],
)
def test_what_cannot_be_compared(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_tolerances_come_in_pairs():
    with pytest.raises(
        ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol."
    ):
        assert_close(1.0, 1.0, rtol=0.1)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.complex64])
def test_made_tensors(dtype):
    x = make_tensor(5, 4, dtype=dtype, device="cpu")
    assert x.shape == (5, 4)
    assert x.dtype == dtype
    assert not make_tensor(5, 4, dtype=dtype, device="cpu", noncontiguous=True).is_contiguous()


def test_made_tensors_obey_limits():
    x = make_tensor((100,), dtype=torch.float32, device="cpu", low=2, high=3)
    assert bool((x >= 2).all()) and bool((x < 3).all())
    assert bool((make_tensor(100, dtype=torch.int64, device="cpu", low=0, high=2, exclude_zero=True) == 1).all())
    assert make_tensor(2, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="requires_grad"):
        make_tensor(2, dtype=torch.int64, device="cpu", requires_grad=True)
