"""Graphs of operators on a GPU that are recorded and replayed: `torch.compile(mode="reduce-overhead")`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._logging._internal import artifact
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import GraphModule

__all__ = ["Recorded", "reason_against"]

_WARM_UPS = 2  # plain calls, after which it is known which arguments stay where they are


def reason_against(module: GraphModule) -> str | None:
    """Why a graph of operators cannot be recorded; None if it may be."""
    for node in module.graph.nodes:
        values = node.meta.get("val")
        for value in values if isinstance(values, (tuple, list)) else (values,):
            if isinstance(value, torch.Tensor) and (value.device.type != "cuda" or value.layout is not torch.strided):
                return f"{node.name} is a tensor of {value.device}"
            if value is not None and not isinstance(value, torch.Tensor):
                return f"{node.name} is no tensor"
        if isinstance(node.target, OpOverload):
            if node.target._handle.mutates:
                return f"{node.target} writes to an argument"
            if torch.Tag.dynamic_output_shape in node.target.tags:
                return f"the size of what {node.target} gives depends on numbers"
    return None


class Recorded:
    """The same callable of tensors of a GPU, whose work is recorded at the third call and replayed from then on.

    Arguments that stay where they are, such as parameters, are read there; others are copied to where the recording reads. Results
    are copies, which later calls leave alone. What cannot be recorded runs as it is (`TORCH_LOGS=cudagraphs` says why).
    """

    def __init__(self, run: Callable[..., Any], name: str) -> None:
        self._run, self._name = run, name
        self._calls = 0
        self._places: list[int] = []  # of the arguments, in the last call
        self._kept: set[int] = set()  # arguments that have stayed where they are
        self._graph: Any = None
        self._refused = False

    def __call__(self, *args: Any) -> Any:
        if self._refused:
            return self._run(*args)
        if self._calls < _WARM_UPS:
            return self._first_calls(args)
        if self._graph is None or any(args[k].data_ptr() != self._places[k] for k in self._kept):
            self._kept = {k for k in self._kept if args[k].data_ptr() == self._places[k]}
            if not self._record(args):
                return self._run(*args)
        for k, (given, held) in enumerate(zip(args, self._held, strict=True)):
            if k not in self._kept:
                held.copy_(given)
        self._graph.replay()
        return tuple(each if each is None else self._result(each, args) for each in self._results)

    def _first_calls(self, args: tuple[Any, ...]) -> Any:
        places = [each.data_ptr() for each in args]
        self._kept = {k for k, place in enumerate(places) if not self._calls or place == self._places[k]}
        self._places = places
        self._calls += 1
        return self._run(*args)

    def _record(self, args: tuple[Any, ...]) -> bool:
        """Record the work on these arguments; False where that is not possible."""
        self._graph = None
        self._held = [each.detach() if k in self._kept else torch.empty_like(each) for k, each in enumerate(args)]
        graph = torch.cuda.CUDAGraph()
        drawn = torch.cuda.get_rng_state()
        try:
            with torch.cuda.graph(graph), torch.no_grad():
                made = self._run(*self._held)
        except RuntimeError as error:
            artifact("cudagraphs", f"{self._name} is not recorded: {error}")
            self._refused = True
            torch.cuda.set_rng_state(drawn)  # the plain call draws these numbers
            return False
        owners = {each.untyped_storage()._cdata: k for k, each in enumerate(self._held)}
        self._results = [
            each if each is None else (each, owners.get(each.untyped_storage()._cdata))
            for each in (made if isinstance(made, (tuple, list)) else (made,))
        ]
        self._graph = graph
        artifact("cudagraphs", f"{self._name} is recorded; {len(self._held) - len(self._kept)} arguments are copied")
        return True

    def _result(self, result: tuple[Any, int | None], args: tuple[Any, ...]) -> Any:
        """A copy of a result, or the view of the argument that it is."""
        made, owner = result
        if owner is None:
            return made.clone()
        offset = made.storage_offset() - self._held[owner].storage_offset() + args[owner].storage_offset()
        return args[owner].as_strided(made.size(), made.stride(), offset)
