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


def test_sizes_whose_product_wraps_to_nothing():
    """4 times 2**62 is 0 in 64 bits: that must not pass for an empty tensor."""
    x = torch.ones(4)
    large = torch.empty(1, device="meta").expand(2**62)
    for make in (
        lambda: x.repeat(2**62),
        lambda: x.tile(2**62),
        lambda: x.repeat(2**61, 2),
        lambda: torch.cat([large] * 4),
        lambda: torch.hstack([large] * 4),
    ):
        with pytest.raises(RuntimeError, match="overflow"):
            make()


@pytest.mark.parametrize("sizes", [(0, 2**40, 2**40), (0, 2**40, 2**40, 2), (0, 2**62, 4, 4)])
def test_strides_that_wrap(sizes):
    """An empty tensor has strides too, and `set_` makes them of sizes alone."""
    x = torch.empty(0)
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        x.set_(x.untyped_storage(), 0, sizes)
    with pytest.raises(RuntimeError, match="overflow"):
        torch.empty(sizes)
    assert x.shape == (0,)


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor" + "[]" * 200_000 + " x) -> ()",
        "f(Tensor" + "?" * 1 + "[]?" * 100_000 + " x) -> ()",
        "f(" + "Dict(int, " * 100_000 + "int" + ")" * 100_000 + " x) -> ()",
        "f(" + "(" * 200_000 + " x) -> ()",
        "f(int[] x=" + "[" * 200_000 + ") -> ()",
        "f() -> " + "(" * 200_000,
    ],
)
def test_schemas_nested_too_deep(text):
    library = torch.library.Library("nested_too_deep", "FRAGMENT")
    with pytest.raises(RuntimeError, match="nested at most|expected|unknown type"):
        library.define(text)
