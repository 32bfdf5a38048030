"""Comparisons with NaN, infinities and numbers out of a dtype's range; closeness; tests of floats."""

import pytest
from agreement import agree, agree_on_error

_SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan")]
_NAMES = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_special_values(name, dtype):
    def program(torch):
        a = torch.tensor(_SPECIAL, dtype=getattr(torch, dtype))
        return [getattr(torch, name)(a.reshape(-1, 1), a), getattr(torch, name)(a, 0), getattr(a, name)(float("nan"))]

    agree(program)


@pytest.mark.parametrize("name", _NAMES)
def test_mixed_dtypes(name):
    def program(torch):
        a = torch.tensor([0, 1, 2, 255], dtype=torch.uint8)
        b = torch.tensor([0, -1, 2, -1], dtype=torch.int8)
        compare = getattr(torch, name)
        return [compare(a, b), compare(a, 1.5), compare(b, torch.tensor([0.0, -1.0, 2.5, 3.0])), compare(a > 0, True)]

    agree(program)


def test_in_place_comparison_keeps_the_dtype():
    def program(torch):
        a = torch.tensor([1.0, 2.0, 3.0])
        a.gt_(2)
        b = torch.tensor([1, 2, 3])
        b.eq_(torch.tensor([1.0, 5.0, 3.0]))
        return [a, b]

    agree(program)


def test_logical_operators_take_any_dtype():
    def program(torch):
        a = torch.tensor([0.0, 0.5, float("nan"), -1.0])
        b = torch.tensor([0, 0, 3, 4])
        return [
            torch.logical_and(a, b),
            torch.logical_or(a, b),
            torch.logical_xor(a, b),
            torch.logical_not(a),
            a.logical_not_(),
            torch.logical_not(b, out=torch.empty(4, dtype=torch.int32)),
        ]

    agree(program)


def test_tests_of_floats():
    def program(torch):
        a = torch.tensor(_SPECIAL)
        i = torch.tensor([1, -2])
        names = ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit", "isreal"]
        return [getattr(torch, n)(x) for n in names for x in (a, i, a.half())]

    agree(program)


def test_closeness():
    def program(torch):
        a = torch.tensor([1.0, 1.0 + 1e-6, float("inf"), float("nan"), 0.0])
        b = torch.tensor([1.0, 1.0, float("inf"), float("nan"), 1e-9])
        return [
            torch.isclose(a, b),
            torch.isclose(a, b, equal_nan=True),
            torch.isclose(a, b, rtol=0, atol=0),
            torch.allclose(a, b),
            torch.allclose(a, b, equal_nan=True),
            torch.equal(a, b),
            torch.equal(b[:3], b[:3].clone()),
            torch.equal(torch.ones(2), torch.ones(3)),
            torch.isclose(torch.tensor([1, 5]), torch.tensor([1, 6]), rtol=0.1),
        ]

    agree(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.isclose(t.ones(2), t.ones(2, dtype=t.float64)),
        lambda t: t.isclose(t.ones(2), t.ones(2), rtol=-1),
        lambda t: t.ones(3) == t.ones(4),
    ],
)
def test_errors(program):
    agree_on_error(program)


def test_where_as_a_method():
    def program(torch):
        x = torch.arange(6.0).reshape(2, 3).requires_grad_()
        found = x.where(x > 2, -x)
        found.sum().backward()
        mask = torch.tensor([True, False, True])
        return [found, x.grad, x.where(mask, 0.5), x.where(condition=mask, other=torch.tensor(1.0))]

    agree(program)
