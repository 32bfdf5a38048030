"""Sharding rules of the family arithmetic: sums of sums are sums, and so are their multiples."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Call, Operand, Strategy, linear_in, rule
from ._shared import pointwise


@rule("add.Tensor", "sub.Tensor")
def _sum(call: Call) -> Iterable[Strategy]:
    yield from pointwise(call)
    if all(isinstance(each, Operand) for each in call.values[:2]):
        yield from linear_in(call, [call.operands])


@rule("mul.Tensor", "mul.Scalar")
def _product(call: Call) -> Iterable[Strategy]:
    yield from pointwise(call)
    yield from linear_in(call, [[each] for each in call.operands])


@rule("div.Tensor", "div.Scalar")
def _quotient(call: Call) -> Iterable[Strategy]:
    yield from pointwise(call)
    if isinstance(call.values[0], Operand):
        yield from linear_in(call, [[call.values[0]]])
