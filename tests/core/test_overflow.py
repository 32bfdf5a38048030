"""Integers beyond the ends of their type wrap, as PyTorch 2.13's do: no undefined behaviour, the same numbers."""

import pytest

import mindtorch_v2 as torch

tensor = torch.tensor
LOW, BIG = -(2**63), 2**62

CASES = [
    (lambda: tensor([BIG, BIG, BIG]).sum(), -BIG),
    (lambda: tensor([BIG, BIG]).prod(), 0),
    (lambda: tensor([BIG, BIG, BIG]).cumsum(0), [BIG, LOW, -BIG]),
    (lambda: tensor([BIG, 3]).cumprod(0), [BIG, -BIG]),
    (lambda: tensor([BIG, 1]).index_add(0, tensor([0]), tensor([BIG]), alpha=3), [0, 1]),
    (lambda: tensor([BIG, 1]).scatter_add(0, tensor([0, 0, 0]), tensor([BIG] * 3)), [0, 1]),
    (lambda: tensor([BIG]).index_put((tensor([0]),), tensor([BIG]), accumulate=True), [LOW]),
    (lambda: tensor([BIG]).put(tensor([0]), tensor([BIG]), accumulate=True), [LOW]),
    (lambda: tensor([30000], dtype=torch.int16) * tensor([30000], dtype=torch.int16), [-5888]),
    (lambda: torch.gcd(tensor([LOW, LOW, LOW]), tensor([LOW, 3, 0])), [LOW, 1, LOW]),
    (lambda: torch.lcm(tensor([LOW, LOW, LOW, BIG]), tensor([LOW, 3, -1, BIG + 1])), [LOW, LOW, LOW, BIG]),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_wraps(case):
    call, expected = CASES[case]
    assert call().tolist() == expected
