"""Bitwise operators on every integer dtype, shifts past the ends, gcd and lcm."""

import operator

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch

_INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("dtype", [*_INTEGERS, "bool"])
def test_bits(dtype):
    def program(torch):
        a = torch.tensor([0, 1, 5, -7, 100]).to(getattr(torch, dtype))
        b = torch.tensor([3, 0, 6, 2, -1]).to(getattr(torch, dtype))
        return [a & b, a | b, a ^ b, ~a, a & 1, a | True]

    agree(program)


@pytest.mark.parametrize("dtype", _INTEGERS)
def test_shifts(dtype):
    def program(torch):
        a = torch.tensor([1, 5, -7, 100]).to(getattr(torch, dtype)).reshape(-1, 1)
        n = torch.tensor([0, 1, 3, 7]).to(getattr(torch, dtype))
        return [a << n, a >> n, a << 2, a >> 1, torch.bitwise_left_shift(2, n)]

    agree(program)


@pytest.mark.parametrize("dtype", _INTEGERS)
def test_divisors(dtype):
    def program(torch):
        a = torch.tensor([0, 12, 18, 7]).to(getattr(torch, dtype)).reshape(-1, 1)
        b = torch.tensor([0, 4, 27]).to(getattr(torch, dtype))
        return [torch.gcd(a, b), torch.lcm(a, b)]

    agree(program)


def test_in_place():
    def program(torch):
        a = torch.tensor([1, 2, 3])
        a &= 2
        b = torch.tensor([True, False])
        b |= torch.tensor([False, True])
        c = torch.tensor([1, 2])
        c <<= 3
        c ^= torch.tensor([1, 1])
        return [a, b, c]

    agree(program)


def test_floats_have_no_bits():
    agree_on_error(lambda torch: torch.bitwise_left_shift(torch.ones(2), torch.ones(2)))


@pytest.mark.parametrize("other", [2, torch.tensor([1, 0])])
def test_floats_are_not_shifted(other):
    x = torch.tensor([8.0, 3.0])
    for shift, name in (
        (operator.rshift, "rshift"),
        (operator.lshift, "lshift"),
        (torch.ops.aten.__rshift__, "rshift"),
    ):
        with pytest.raises(NotImplementedError, match=f"\"{name}_cpu\" not implemented for 'Float'"):
            shift(x, other)
