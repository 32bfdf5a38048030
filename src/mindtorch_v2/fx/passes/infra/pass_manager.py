"""A sequence of passes over graph modules: their order, and what is checked between them."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any

from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

_log = logging.getLogger(__name__)

Pass = Callable[[Any], Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Pass:
    """A pass that gives a PassResult, of one that changes the graph module in place and gives nothing.

    >>> from mindtorch_v2.fx.passes.infra.pass_manager import pass_result_wrapper
    >>> wrapped = pass_result_wrapper(lambda graph_module: None)
    >>> wrapped(torch.fx.symbolic_trace(torch.nn.ReLU())).modified
    True
    """
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped(graph_module: GraphModule) -> PassResult:
        result = fn(graph_module)
        if result is None:
            return PassResult(graph_module, True)
        return result if isinstance(result, PassResult) else PassResult(result, True)

    if not inspect.isfunction(fn):
        wrapped.__name__ = type(fn).__name__
    return wrapped


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """A constraint on the order of passes: `this` stands before `that`.

    >>> from mindtorch_v2.fx.passes.infra.pass_manager import this_before_that_pass_constraint
    >>> first, second = len, sum
    >>> holds = this_before_that_pass_constraint(first, second)
    >>> holds(first, second), holds(second, first)
    (True, False)
    """

    def depends_on(a: Pass, b: Pass) -> bool:
        return a != that or b != this

    return depends_on


def _validate_pass_schedule_constraint(constraint: Constraint, passes: Sequence[Pass]) -> None:
    """RuntimeError where two passes stand in an order that a constraint forbids."""
    for i, first in enumerate(passes):
        for j, second in enumerate(passes[i + 1 :], i + 1):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before {second} but found {first} at index {i} and "
                    f"{second} at index {j} in pass list."
                )


def _topological_sort_passes(passes: Sequence[Pass], constraints: Sequence[Constraint]) -> list[Pass]:
    """The passes in an order that every constraint allows, else as they came; RuntimeError where there is none."""
    if not constraints:
        return list(passes)
    # A pass has to wait for another where it may not stand before it.
    waits_for = {
        p: [q for q in passes if q is not p and not all(allows(p, q) for allows in constraints)] for p in passes
    }
    waiting = {p: len(others) for p, others in waits_for.items()}
    ready = [p for p in passes if not waiting[p]]
    ordered: list[Pass] = []
    while ready:
        found = ready.pop(0)
        ordered.append(found)
        for p in passes:
            if found in waits_for[p]:
                waiting[p] -= 1
                if not waiting[p]:
                    ready.append(p)
    if len(ordered) != len(passes):
        raise RuntimeError(
            f"Circular dependency detected within the following passes: {[p for p in passes if p not in ordered]}"
        )
    return ordered


def _name(fn: Pass) -> str:
    return fn.__name__ if inspect.isfunction(fn) else type(fn).__name__


class PassManager:
    """Passes that run one after the other, `steps` times or until a round changes nothing.

    `constraints` order them. Checks, functions of the module, run before all, after each with
    `run_checks_after_each_pass`, and in the end; with `suppress_check_failures` what they raise is logged.

    >>> from mindtorch_v2.fx.passes.infra.pass_base import PassResult
    >>> from mindtorch_v2.fx.passes.infra.pass_manager import PassManager
    >>> def to_tanh(graph_module):
    ...     for node in graph_module.graph.nodes:
    ...         if node.op == "call_method" and node.target == "relu":
    ...             node.target = "tanh"
    ...     return PassResult(graph_module, True)
    >>> result = PassManager(passes=[to_tanh])(torch.fx.symbolic_trace(lambda x: x.relu()))
    >>> result.graph_module(torch.tensor([0.0])), [node.target for node in result.graph_module.graph.nodes]
    (tensor([0.]), ['x', 'tanh', 'output'])
    """

    def __init__(
        self,
        passes: list[Pass] | None = None,
        constraints: list[Constraint] | None = None,
        steps: int | None = None,
        run_checks_after_each_pass: bool = False,
        suppress_check_failures: bool = False,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._validated = False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint on the order: `constraint(a, b)` says whether `a` may stand before `b`."""
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self) -> None:
        """RuntimeError where the passes stand in an order that a constraint forbids."""
        if not self._validated:
            for constraint in self.constraints:
                _validate_pass_schedule_constraint(constraint, self.passes)
            self._validated = True

    def solve_constraints(self) -> None:
        """Put the passes in an order that the constraints allow."""
        self.passes = _topological_sort_passes(self.passes, self.constraints)
        self._validated = True

    def add_checks(self, check: Callable[[Any], Any]) -> None:
        """Add a check, a function of the module alone."""
        if len(inspect.signature(check).parameters) != 1:
            raise TypeError("PassManager check function should only take in one variable, a module")
        own = self.check

        def check_more(module: Any) -> None:
            own(module)
            check(module)

        self.check = check_more  # type: ignore[method-assign]  # (a check takes the place of the first one)

    def check(self, module: Any) -> None:
        """The checks that were added; none at first."""

    def _check(self, module: Any) -> None:
        try:
            self.check(module)
        except Exception:
            if not self.suppress_check_failures:
                raise
            _log.exception("a check of a pass manager failed")

    def __call__(self, module: Any) -> PassResult:
        """Run the passes over a module."""
        if not self._validated:
            self.solve_constraints()
        self._check(module)
        ever = False
        for _ in range(self.steps):
            changed = False
            for number, fn in enumerate(self.passes):
                try:
                    result = fn(module)
                    if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                        raise TypeError(
                            f"The result of the pass {_name(fn)} should be type PassResult. Please wrap it with "
                            "pass_result_wrapper()"
                        )
                    module, changed = result.graph_module, changed or result.modified
                    if isinstance(module, GraphModule):
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self._check(module)
                except Exception as error:
                    before = [_name(each) for each in self.passes[:number]]
                    raise Exception(  # PyTorch's class
                        f"An error occurred when running the '{_name(fn)}' pass after the following passes: {before}"
                    ) from error
            ever = ever or changed
            if not changed:
                break
        self._check(module)
        return PassResult(module, ever)
