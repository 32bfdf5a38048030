"""Ways of an operator with sharded tensors: for one dimension of a mesh, the ways in which results may lie.

A rule says of a call which `Strategy` there are, each with placements of the tensors that it takes and gives. Who runs the
call (`torch.distributed.tensor`) takes the cheapest for each dimension of the mesh, moves the tensors there, and runs the
operator on the pieces. That all tensors are whole is always possible; rules do not mention it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..._operators.table import ROWS, every_row
from .placements import Partial, Placement, Replicate

__all__ = [
    "RULES",
    "Call",
    "Operand",
    "Strategy",
    "bound",
    "called",
    "register_shared",
    "rule",
    "rule_of",
    "shared",
    "strategies",
]


@dataclasses.dataclass(frozen=True)
class Operand:
    """A tensor of a call: its number among those taken (or given), and what is known without its values.

    It is no tuple: those among a call's values are lists of operands.
    """

    number: int
    shape: tuple[int, ...]
    dtype: Any

    def dim(self) -> int:
        return len(self.shape)


class Strategy(NamedTuple):
    """One way for a call to run along a dimension of a mesh.

    outputs, inputs: the placements of the tensors that it gives and takes, in order.
    local: what runs on the pieces instead of the operator: `local(run, values, place)`, with `run(values)` the operator, `values`
        the arguments in the schema's order, and `place` what `torch.distributed.tensor` knows of this rank.
    """

    outputs: tuple[Placement, ...]
    inputs: tuple[Placement, ...]
    local: Callable[..., Any] | None = None


class Call(NamedTuple):
    """A call that is to run on sharded tensors.

    op: the operator.
    values: its arguments in the schema's order, tensors as `Operand`.
    operands: the tensors it takes.
    results: the tensors it gives.
    parts: into how many pieces the mesh cuts a dimension of an operand: `parts(operand, dim)`, this dimension of the mesh included.
    size: how many ranks the dimension of the mesh has.
    """

    op: Any
    values: list[Any]
    operands: tuple[Operand, ...]
    results: tuple[Operand, ...]
    parts: Callable[[Operand, int], int]
    size: int

    def value(self, name: str, default: Any = None) -> Any:
        """The argument of that name."""
        names = _names(self.op)
        return self.values[names.index(name)] if name in names else default

    def has(self, name: str) -> bool:
        """Whether the operator has an argument of that name."""
        return name in _names(self.op)

    def divides(self, operand: Operand, dim: int) -> bool:
        """Whether all ranks get equally long pieces of a dimension."""
        return operand.shape[dim] % self.parts(operand, dim) == 0

    def strategy(
        self,
        outputs: Sequence[Placement | None] | Placement,
        inputs: dict[int, Placement],
        local: Callable | None = None,
    ) -> Strategy:
        """A strategy whose operands are whole unless `inputs` says how they lie, by their numbers."""
        given = [outputs] * len(self.results) if isinstance(outputs, Placement) else outputs
        return Strategy(
            tuple(each or Replicate() for each in given),
            tuple(inputs.get(each.number, Replicate()) for each in self.operands),
            local,
        )


Rule = Callable[[Call], Iterable[Strategy]]
RULES: dict[Any, Rule] = {}
SHARED: dict[str, Rule] = {}


@functools.cache
def _names(op: Any) -> list[str]:
    return [argument["name"] for argument in op.arguments]


@functools.cache
def _arguments(op: Any) -> tuple[list[tuple[str, Any]], int]:
    listed = op.arguments
    return [(each["name"], each["default"]) for each in listed], sum(not each["kwarg_only"] for each in listed)


def bound(op: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a call in the schema's order, defaults filled in."""
    named, _ = _arguments(op)
    given = list(args[: len(named)])
    return [*given, *(kwargs.get(name, default) for name, default in named[len(given) :])]


def called(op: Any, values: Sequence[Any]) -> Any:
    """The operator on arguments in the schema's order."""
    named, positional = _arguments(op)
    keywords = {name: value for (name, _), value in zip(named[positional:], values[positional:])}
    return op(*values[:positional], **keywords)


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for the rows of these names ("sum.dim_IntList"), in all their forms."""

    def register(made: Rule) -> Rule:
        for name in names:
            row = ROWS[name]
            for handle in (row.handle, row.inplace, row.out, row.generated_out):
                if handle is not None:
                    RULES[handle] = made
        return made

    return register


def shared(word: str) -> Callable[[Rule], Rule]:
    """Make the decorated rule that of the rows which say so: `sharding=` with this word."""

    def register(made: Rule) -> Rule:
        SHARED[word] = made
        return made

    return register


# What vmap does to a row says how it takes pieces.
_OF_BATCHING = {"dims": "along", "matrix": "stack", "stack": "stack", "planes": "planes", "reduction": "reduction"}
_OF_BATCHING |= {"whole": "pointwise"}


def _word_of(facts: Any) -> str:
    """The word of a row, stated or following from its other facts."""
    if facts.sharding:
        return facts.sharding
    if facts.elementwise:
        return "pointwise"
    return _OF_BATCHING.get(facts.batching, "")


def register_shared() -> None:
    """Give each row the rule that its facts name."""
    for row in every_row().values():
        word = _word_of(row.facts)
        if word and row.handle not in RULES:
            rule(row.name)(SHARED[word])


def rule_of(op: Any) -> Rule | None:
    """The rule of an operator; None if all its tensors have to be whole."""
    return RULES.get(op)


def strategies(call: Call) -> list[Strategy]:
    """All that a call may do along one dimension of a mesh; the first is that everything is whole."""
    made = RULES.get(call.op)
    whole = call.strategy(Replicate(), {})
    return [whole, *(made(call) if made else ())]


def linear_in(call: Call, groups: Iterable[Sequence[Operand]]) -> Iterable[Strategy]:
    """Strategies of operators that are linear in each group of operands: they lie as sums, and so do the results."""
    for group in groups:
        for kind in ("sum", "avg"):
            yield call.strategy(Partial(kind), {each.number: Partial(kind) for each in group})
