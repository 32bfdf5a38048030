"""Sharding rules of the family matmul, from the letters of each operand's dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ._call import Call, Operand, Strategy, rule
from .placements import Partial, Placement, Replicate, Shard

_STACK = "abcdefgh"  # letters of dimensions in front of the matrices


def products(
    call: Call,
    labels: dict[int, str],
    results: Sequence[tuple[str, Sequence[int]]],
    added: Sequence[int] = (),
) -> Iterable[Strategy]:
    """Strategies of sums of products.

    Args:
        labels: the letters of each operand's dimensions, by its number; a dimension of size one that is broadcast has a "1".
        results: of each result its letters, and the numbers of the operands that it is a product of.
        added: operands that are added to the result; they lie as it does.
    """
    shapes = {each.number: each.shape for each in call.operands}
    for letter in sorted(set("".join(labels.values())) - {"1"}):
        inputs: dict[int, Placement] = {
            index: Shard(own.index(letter)) for index, own in labels.items() if letter in own
        }
        outputs: list[Placement | None] = []
        for own, factors in results:
            if letter in own:
                outputs.append(Shard(own.index(letter)))
            elif any(letter in labels[index] for index in factors):
                outputs.append(Partial())
            else:
                outputs.append(None)
        for index in added:
            if (place := outputs[0]) is not None:
                inputs[index] = _beside(place, shapes[index], len(results[0][0]))
        yield call.strategy(outputs, inputs)
    for index in {each for _, factors in results for each in factors}:
        outputs = [Partial() if index in factors else None for _, factors in results]
        whole = dict.fromkeys(added, Partial()) if outputs[0] is not None else {}
        yield call.strategy(outputs, {index: Partial(), **whole})


def _beside(place: Placement, shape: tuple[int, ...], rank: int) -> Placement:
    """How a tensor lies that is broadcast and added to one of `rank` dimensions."""
    if not isinstance(place, Shard):
        return place
    own = place.dim - rank + len(shape)
    return Shard(own) if own >= 0 and shape[own] != 1 else Replicate()


def _stated(left: str, right: str, made: str, added: bool) -> Callable[[Call], Iterable[Strategy]]:
    """The rule of a product whose letters are always the same, and to which another operand may be added in front."""

    def rule_of_letters(call: Call) -> Iterable[Strategy]:
        first = int(added)
        labels = {first: left, first + 1: right}
        return products(call, labels, [(made, (first, first + 1))], (0,) if added else ())

    return rule_of_letters


rule("mm")(_stated("mk", "kn", "mn", False))
rule("bmm")(_stated("bmk", "bkn", "bmn", False))
rule("mv")(_stated("mk", "k", "m", False))
rule("dot", "vdot")(_stated("k", "k", "", False))
rule("addmm")(_stated("mk", "kn", "mn", True))
rule("addmv")(_stated("mk", "k", "m", True))
rule("baddbmm")(_stated("bmk", "bkn", "bmn", True))


@rule("linear")
def _linear(call: Call) -> Iterable[Strategy]:
    x, weight, bias = call.values
    if weight.dim() != 2 or x.dim() == 0:
        return ()
    rows = _STACK[: x.dim() - 1]
    added = () if bias is None else (bias.number,)
    return products(call, {x.number: f"{rows}k", weight.number: "nk"}, [(f"{rows}n", (x.number, weight.number))], added)


@rule("linear_backward")
def _linear_backward(call: Call) -> Iterable[Strategy]:
    x, gradient, weight, mask = call.values
    if weight.dim() != 2 or x.dim() == 0:
        return ()
    rows = _STACK[: x.dim() - 1]
    made = [
        (f"{rows}k", (gradient.number, weight.number)),
        ("nk", (gradient.number, x.number)),
        ("n", (gradient.number,)),
    ]
    labels = {x.number: f"{rows}k", gradient.number: f"{rows}n", weight.number: "nk"}
    return products(call, labels, [each for each, wanted in zip(made, mask, strict=True) if wanted])


def _stacked(x: Operand, ranks: int, matrix: str, shape: Sequence[int]) -> str:
    """The letters of a stack of matrices, lined up with `ranks` dimensions of the stack of sizes `shape`."""
    own = x.shape[: x.dim() - len(matrix)]
    letters = _STACK[ranks - len(own) : ranks]
    sizes = shape[ranks - len(own) :]
    return "".join(each if size == full else "1" for each, size, full in zip(letters, own, sizes)) + matrix


def _letters(a: Operand, b: Operand) -> tuple[str, str, str]:
    """The letters of the factors and the product of `matmul`."""
    left = "k" if a.dim() == 1 else "mk"
    right = "k" if b.dim() == 1 else "kn"
    stacks = [each.shape[: max(0, each.dim() - 2)] for each in (a, b)]
    ranks = max(map(len, stacks))
    shape = [max(each[i - ranks + len(each)] if i >= ranks - len(each) else 1 for each in stacks) for i in range(ranks)]
    made = _STACK[:ranks] + left.replace("k", "") + right.replace("k", "")
    return _stacked(a, ranks, left, shape), _stacked(b, ranks, right, shape), made


@rule("matmul")
def _matmul(call: Call) -> Iterable[Strategy]:
    a, b = call.operands
    if not a.dim() or not b.dim():
        return ()
    left, right, made = _letters(a, b)
    return products(call, {0: left, 1: right}, [(made, (0, 1))])


@rule("matmul_backward")
def _matmul_backward(call: Call) -> Iterable[Strategy]:
    gradient, a, b = call.operands
    if not a.dim() or not b.dim():
        return ()
    left, right, made = _letters(a, b)
    wanted = [((left, (0, 2)), "a"), ((right, (0, 1)), "b")]
    results = [each for (each, _), asked in zip(wanted, call.values[3], strict=True) if asked]
    return products(call, {0: made, 1: left, 2: right}, results)
