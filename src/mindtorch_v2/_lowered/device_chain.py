"""A group of element-wise calls as one kernel of a device's back end (`_backends/common/chains.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.common.chains import Maker, Run, Step
from mindtorch_v2._lowered.fused_program import Result
from mindtorch_v2._lowered.loops import Call, results_of, step_of
from mindtorch_v2.fx import Node

__all__ = ["ChainBuilder", "ChainKernel"]


class ChainKernel:
    """A chain that a graph calls: `kernel(*tensors)` gives a tensor, or a tuple of them. `text` says what it does."""

    __module__ = "fused_loops"  # as the CPU's, so that code of graphs calls it by its name alone

    def __init__(self, name: str, text: str, run: Run, results: list[Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self.text = text
        self._run = run
        self._forms = [(tuple(each.shape), each.stride(), each.dtype, each.device) for each in results]

    def __call__(self, *tensors: Any) -> Any:
        made = tuple(
            torch.empty_strided(sizes, strides, dtype=dtype, device=device)
            for sizes, strides, dtype, device in self._forms
        )
        self._run(made, tensors)
        return made[0] if len(made) == 1 else made


class ChainBuilder:
    """Put calls into a chain, in an order in which they can run. `aliases` as in `fused_program.ProgramBuilder`."""

    def __init__(self, maker: Maker, aliases: Mapping[Node, Result]) -> None:
        self._maker, self._aliases = maker, aliases
        self._calls: list[Call] = []
        self.arguments: list[Node] = []

    def add(self, call: Call) -> None:
        """Append a call."""
        self._calls.append(call)

    def finish(self, name: str, outputs: Iterable[Result]) -> ChainKernel:
        """The kernel that gives these results."""
        members = {call.node for call in self._calls}

        def origin(node: Node) -> Result:
            return self._aliases.get(node, (node, 0))

        read = dict.fromkeys(each for call in self._calls for each in call.tensors if origin(each)[0] not in members)
        self.arguments = list(read)
        places: dict[Result, int] = {(each, 0): place for place, each in enumerate(read)}
        steps: list[Step] = []
        lines: list[str] = []
        for call in self._calls:
            named = {each: places[origin(each) if origin(each)[0] in members else (each, 0)] for each in call.tensors}
            step = step_of(call.node, named)
            steps.append(step)
            lines.append(f"{call.node.name} = {step.target}({', '.join(map(str, call.node.args))})")
            for index in range(len(call.results)):
                places[call.node, index] = len(places)
        wanted = list(outputs)
        run = self._maker.make(
            name, [each.meta["val"].dtype for each in read], steps, [places[each] for each in wanted]
        )
        results = [results_of(node)[index] for node, index in wanted]
        head = f"{name}({', '.join(each.name for each in read)}) on {results[0].device}:"
        tail = f"return {', '.join(node.name for node, _ in wanted)}"
        return ChainKernel(name, "\n    ".join([head, *lines, tail]), run, results)
