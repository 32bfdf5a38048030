"""One group of calls as a program of loops over one space of elements, which the core runs block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._lowered.loops import ALL, COLUMNS, ROW, Call, recorded, results_of
from mindtorch_v2.fx import Node

__all__ = ["FusedKernel", "ProgramBuilder"]

Result = tuple[Node, int]  # a node, and which of its results


class FusedKernel(_C._FusedLoops):
    """A fused program that a graph calls: `kernel(*tensors)` gives a tensor, or a tuple of them.

    `text` says what it does, a line for each step. `recipe` is the data that `made_by` makes it of: those of the core's class, with
    a pair in the place of each loop: the arguments of `recorded`, and which of the loops that it gives.
    """

    __module__ = "fused_loops"  # so that code of graphs calls it by its name alone
    __name__: str
    text: str
    recipe: tuple[Any, ...]

    @classmethod
    def made_by(cls, recipe: tuple[Any, ...], name: str) -> FusedKernel:
        """The kernel of a recipe."""
        *space, steps, outputs = recipe
        loops = tuple((None if asked is None else recorded(*asked[0])[asked[1]], values) for asked, values in steps)
        kernel = cls(*space, loops, outputs)
        kernel.recipe, kernel.__name__, kernel.text = recipe, name, name
        return kernel


class ProgramBuilder:
    """Put calls into a program, in an order in which they can run.

    `sizes` is the space, `order` its dimensions in the order of memory, `row_dims` as in `Call`. `aliases` says which result
    a node is that does nothing here (an item of several results, a view that keeps the elements of rows).
    """

    def __init__(self, sizes: tuple, order: tuple, row_dims: int, aliases: Mapping[Node, Result]) -> None:
        self.sizes, self.order, self.row_dims = sizes, order, row_dims
        self._aliases = aliases
        self._kept = sizes[: len(sizes) - row_dims] + (1,) * row_dims if row_dims else None
        self.arguments: list[Node] = []
        self._inputs: dict[tuple[Node, int], int] = {}
        self._values: list[list] = []  # [dtype, reach, is input]
        self._forms: dict[Result, dict[tuple, int]] = {}  # of a result made here: (dtype, reach) -> value
        self._first: dict[Result, int] = {}
        self._numbers: dict[tuple, int] = {}
        self._number_list: list[tuple[int, Any]] = []
        self._steps: list[tuple[Any, tuple[int, ...]]] = []  # (as in a recipe, values)
        self._lines: list[str] = []
        self._names: dict[int, str] = {}

    # ---- values ----

    def _value(self, dtype: Any, reach: int, name: str) -> int:
        self._values.append([dtype, reach, False])
        number = len(self._values) - 1
        self._names[number] = name
        return number

    def reach_of(self, value: Any) -> int:
        """The reach of a tensor: an element for each of the space, or one for each row."""
        return ROW if self._kept is not None and tuple(value.shape) == self._kept != self.sizes else ALL

    def _number(self, number: Any, dtype: Any) -> int:
        key = (type(number), repr(number), dtype)
        if key not in self._numbers:
            self._numbers[key] = self._value(dtype, ALL, repr(number))
            self._number_list.append((self._numbers[key], number))
        return self._numbers[key]

    def _input(self, node: Node, reach: int) -> int:
        if (node, reach) not in self._inputs:
            value = self._value(node.meta["val"].dtype, reach, node.name)
            self._values[value][2] = True
            self._inputs[node, reach] = value
            self.arguments.append(node)
        return self._inputs[node, reach]

    def _read(self, node: Node, dtype: Any, reach: int) -> int:
        """The number of a value that a loop reads: of this dtype, with these elements."""
        result = self._aliases.get(node, (node, 0))
        if result not in self._forms:
            value = node.meta["val"]
            if reach == COLUMNS:
                had = COLUMNS
            elif value.numel() == 1 and self.row_dims:
                had = reach
            else:
                had = self.reach_of(value)
            start = self._input(node, had)
            forms = self._forms.setdefault((node, -1 - had), {(value.dtype, had): start})
        else:
            start, forms = self._first[result], self._forms[result]
        if (dtype, reach) in forms:
            return forms[dtype, reach]
        now, had = self._values[start][0], self._values[start][1]
        if now != dtype:
            if (dtype, had) not in forms:
                forms[dtype, had] = self._convert(start, dtype)
            start = forms[dtype, had]
        if had != reach:
            if had != ROW or reach != ALL:
                raise AssertionError("an element for each row was expected")
            forms[dtype, reach] = self._repeat(start)
            start = forms[dtype, reach]
        return start

    def _convert(self, value: int, dtype: Any) -> int:
        made = self._value(dtype, self._values[value][1], f"{self._names[value]}.{_short(dtype)}")
        self._steps.append((None, (made, value)))
        self._lines.append(f"{self._names[made]} = convert({self._names[value]})")
        return made

    def _repeat(self, value: int) -> int:
        made = self._value(self._values[value][0], ALL, f"{self._names[value]}.rows")
        self._steps.append((None, (made, value)))
        self._lines.append(f"{self._names[made]} = repeat({self._names[value]})")
        return made

    # ---- calls ----

    def add(self, call: Call) -> None:
        """Append a call."""
        if not call.loops:
            self._cast(call)
            return
        for index, loop in enumerate(call.loops):
            level = ALL
            if loop.row < 0:
                level = self.reach_of(call.results[-1 - loop.operands[0][0]])
            values: list[int] = []
            for place, (at, number, dtype, reach) in enumerate(loop.operands):
                reach = reach if loop.row >= 0 else level
                if place < loop.outputs:
                    values.append(self._made((call.node, -1 - at), call, dtype, reach))
                elif number is not None:
                    values.append(self._number(number, dtype))
                elif at >= 0:
                    values.append(self._read(call.tensors[at], dtype, reach))
                else:  # what another loop of the call has written
                    values.append(self._own((call.node, -1 - at), dtype, reach))
            self._steps.append(((call.asked, index), tuple(values)))
            made = ", ".join(self._names[v] for v in values[: loop.outputs])
            read = ", ".join(self._names[v] for v in values[loop.outputs :])
            kind = "" if loop.row < 0 else "rows "
            self._lines.append(f"{made} = {kind}{call.node.target}({read})")

    def _own(self, result: Result, dtype: Any, reach: int) -> int:
        found = self._forms[result].get((dtype, reach))
        if found is None:
            found = self._forms[result][dtype, reach] = self._convert(self._first[result], dtype)
        return found

    def _made(self, result: Result, call: Call, dtype: Any, reach: int) -> int:
        suffix = f"[{result[1]}]" if len(call.results) > 1 else ""
        value = self._value(dtype, reach, call.node.name + suffix)
        self._forms[result] = {(dtype, reach): value}
        self._first[result] = value
        return value

    def _cast(self, call: Call) -> None:
        result, source = call.results[0], call.tensors[0]
        reach = self.reach_of(result)
        origin = self._aliases.get(source, (source, 0))
        if origin in self._forms and result.dtype.itemsize > source.meta["val"].dtype.itemsize:
            # Widening what was computed in the wider type already.
            found = self._read(source, self._values[self._first[origin]][0], reach)
        else:
            found = self._read(source, source.meta["val"].dtype, reach)
        if self._values[found][0] != result.dtype or self._values[found][2]:
            value = self._value(result.dtype, reach, call.node.name)
            self._steps.append((None, (value, found)))
            self._lines.append(f"{call.node.name} = convert({self._names[found]})")
            found = value
        self._forms[call.node, 0] = {(result.dtype, reach): found}
        self._first[call.node, 0] = found

    # ---- the program ----

    def finish(self, name: str, outputs: Iterable[Result]) -> FusedKernel:
        """The kernel that gives these results."""
        given = []
        taken: set[int] = set()
        for node, index in outputs:
            example = results_of(node)[index]
            result = (node, index)
            reach = self._values[self._first[result]][1]
            value = self._forms[result].get((example.dtype, reach))
            if value is None:
                value = self._forms[result][example.dtype, reach] = self._convert(self._first[result], example.dtype)
            if value in taken or self._values[value][2]:
                fresh = self._value(example.dtype, reach, f"{self._names[value]}.copy")
                self._steps.append((None, (fresh, value)))
                value = fresh
            taken.add(value)
            given.append((value, tuple(example.shape), tuple(example.stride())))
        # Inputs are numbered first.
        inputs = [v for v, each in enumerate(self._values) if each[2]]
        others = [v for v, each in enumerate(self._values) if not each[2]]
        place = {v: k for k, v in enumerate([*inputs, *others])}
        recipe = (
            self.sizes,
            self.order,
            self.row_dims,
            len(inputs),
            tuple((self._values[v][0], self._values[v][1]) for v in [*inputs, *others]),
            tuple((place[v], number) for v, number in self._number_list),
            tuple((asked, tuple(place[v] for v in values)) for asked, values in self._steps),
            tuple((place[v], sizes, strides) for v, sizes, strides in given),
        )
        kernel = FusedKernel.made_by(recipe, name)
        space = "x".join(map(str, self.sizes)) or "1"
        rows = f", rows of the last {self.row_dims}" if self.row_dims else ""
        head = f"{name}({', '.join(node.name for node in self.arguments)}) over {space}{rows}:"
        tail = f"return {', '.join(self._names[v] for v, _, _ in given)}"
        kernel.text = "\n".join([head, *(f"    {line}" for line in [*self._lines, tail])])
        return kernel


def _short(dtype: torch.dtype) -> str:
    return str(dtype).rpartition(".")[2]
