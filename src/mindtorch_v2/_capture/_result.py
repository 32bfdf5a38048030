"""The result of a capture: a graph, the guards under which it holds, and how a call's result is made of the graph's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guards import Guard, compile_gather, first_failure
from mindtorch_v2._capture._watching import Watching

if TYPE_CHECKING:
    from mindtorch_v2._capture._shape_program import ShapeProgram
    from mindtorch_v2._capture._sources import Source
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["Capture", "ForbiddenCall", "Guards", "Uncapturable"]


class Uncapturable(Exception):
    """Raised by a program that cannot be captured whole.

    `reason` says why, `kind` is a short name of the reason for counters, and `location` is where in the user's code:
    `(file name, line number, source line)`, or None.
    """

    def __init__(self, reason: Any, kind: Any = "unsupported", location: tuple[str, int, str] | None = None) -> None:
        super().__init__(reason)
        self.reason, self.kind, self.location = reason, kind, location

    def __str__(self) -> str:
        if self.location is None:
            return self.reason
        name, line, text = self.location
        return f"{self.reason}\n  at {name}:{line}\n    {text.strip()}"


class ForbiddenCall(AssertionError):
    """Raised where a program that is captured calls what `forbid_in_graph` was given: an error, and no reason to go on eagerly."""


class Guards:
    """The conditions under which a captured graph computes what the program does.

    `lines` names them, one text each. `global_state` is what held of grad mode, autocast and the default dtype.
    """

    def __init__(self, guards: Sequence[Guard], shapes: tuple[ShapeProgram, list[Source]] | None = None) -> None:
        self.guards = guards
        self._shapes = shapes  # (ShapeProgram, sources of its inputs), where sizes may differ
        self._watching: Watching | None = None
        self._gather: Callable[..., list[Any]] | None = None
        self.check: Callable[..., bool] = (
            self._first_check
        )  # whether the graph may be used for a call with these `(args, kwargs)`

    @property
    def lines(self) -> list:
        """A line of text for each guard."""
        return [guard.text() for guard in self.guards]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __len__(self) -> int:
        return len(self.guards)

    def _all(self) -> Sequence[Guard]:
        if self._shapes is None:
            return self.guards
        return [*self.guards, Guard("shapes", None, functools.partial(self._shapes_hold, *self._shapes))]

    def _first_check(self, args: Any, kwargs: dict[str, Any]) -> bool:
        self._watching = Watching(self._all(), self._publish)
        return self.check(args, kwargs)

    def _publish(self, check) -> None:
        self.check = check

    def _shapes_hold(self, program: ShapeProgram, sources: list[Source], args: Any, kwargs: dict[str, Any]) -> bool:
        if self._gather is None:
            self._gather = compile_gather(sources)
        return program.holds(self._gather(args, kwargs))

    def failures(self, args: Any, kwargs: dict[str, Any]) -> list[str]:
        """Why not: a text for the first guard that does not hold; an empty list if all hold."""
        return first_failure(self._all(), args, kwargs)


class _Before:
    """The state that a call may change before it fails: random numbers and the tensors that are given."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self.random = torch.get_rng_state()
        self.tensors = [(tensor, tensor.detach().clone()) for tensor in tensors]

    def restore(self) -> None:
        """Undo the changes."""
        torch.set_rng_state(self.random)
        with torch.no_grad():
            for tensor, values in self.tensors:
                tensor.copy_(values)


class Capture:
    """A captured call.

    `graph` is a GraphModule of torch-level calls whose placeholders stand in the order of `example_inputs` and whose
    output is a flat tuple. `sources` are where the inputs come from at each call.
    """

    def __init__(
        self,
        graph: GraphModule,
        example_inputs: Sequence[torch.Tensor],
        guards: Guards,
        sources: Sequence[Source],
        recipe: Callable[..., Any],
        effects: Sequence[Any],
        again: Callable[..., Any] | None = None,
        written: Sequence[int] = (),
    ) -> None:
        self.graph = graph
        self.example_inputs = example_inputs
        self.guards = guards
        self.sources = sources
        self._recipe = recipe
        self._effects = effects
        self._again = again  # the program, where it may catch an error of the graph
        self._written = written  # then: the places of inputs that are written, until a run has shown that there is none
        self._known: Any = None
        self._fixed: list[Any] = []
        self._moving: list[int] = []
        self._gather: Any = None

    def inputs(self, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
        """The graph's inputs for a call with these arguments, for which `guards.check` was the last that was asked."""
        watching = self.guards._watching
        known: dict[Any, Any] = {} if watching is None else watching.values
        if known is not self._known or self._gather is None:
            self._known = known
            self._fixed = [known.get(source) for source in self.sources]
            self._moving = [i for i, source in enumerate(self.sources) if source not in known]
            self._gather = compile_gather([self.sources[i] for i in self._moving])
        found = self._fixed.copy()
        for place, value in zip(self._moving, self._gather(args, kwargs)):
            found[place] = value
        return found

    def run(self, compiled: GraphModule | Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """The result of the program: `compiled(*inputs)` gives the graph's flat outputs, the rest is put round them."""
        inputs = self.inputs(args, kwargs)
        if self._again is None:
            outputs = compiled(*inputs)
        else:
            before = _Before([inputs[place] for place in self._written])
            try:
                outputs = compiled(*inputs)
            except Exception:  # noqa: BLE001  (the program itself decides what becomes of it)
                before.restore()
                return self._again(*args, **kwargs)
            self._written = ()
        memo: dict[Any, Any] = {}
        result = self._recipe(outputs, args, kwargs, memo)
        # All that is written is made first: a write may change where another reads.
        due = [
            (write, found(outputs, args, kwargs, memo), name, recipe(outputs, args, kwargs, memo))
            for write, found, name, recipe in self._effects
        ]
        for write, target, name, value in due:
            write(target, name, value)
        return result
