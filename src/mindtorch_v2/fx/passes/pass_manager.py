"""Passes over anything, in an order that constraints hold to."""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = [
    "PassManager",
    "inplace_wrapper",
    "log_hook",
    "loop_pass",
    "these_before_those_pass_constraint",
    "this_before_that_pass_constraint",
]

_log = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


def inplace_wrapper(fn: Callable[Concatenate[T, P], Any]) -> Callable[Concatenate[T, P], T]:
    """A pass of a function that changes its argument: it gives the argument back.

    >>> inplace_wrapper(list.sort)([2, 1])
    [1, 2]
    """

    @functools.wraps(fn)
    def wrapped(source: T, *args: P.args, **kwargs: P.kwargs) -> T:
        fn(source, *args, **kwargs)
        return source

    return wrapped


def log_hook(fn: Callable[P, R], level: int = logging.INFO) -> Callable[P, R]:
    """A pass that logs what `fn` gives.

    >>> log_hook(lambda x: x + 1)(1)
    2
    """

    @functools.wraps(fn)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        value = fn(*args, **kwargs)
        _log.log(level, "Ran pass %s\n Return value: %s", fn, value)
        return value

    return wrapped


def loop_pass(
    base_pass: Callable[[T], T], n_iter: int | None = None, predicate: Callable[[T], bool] | None = None
) -> Callable[[T], T]:
    """A pass that runs `base_pass` `n_iter` times, or as long as `predicate` of the result holds.

    AssertionError unless exactly one of the two is given.

    >>> loop_pass(lambda x: x * 2, n_iter=3)(1)
    8
    """
    if not (n_iter is not None) ^ (predicate is not None):
        raise AssertionError("Exactly one of `n_iter`or `predicate` must be specified.")

    @functools.wraps(base_pass)
    def wrapped(source: T) -> T:
        value = source
        if predicate is None:
            for _ in range(n_iter or 0):
                value = base_pass(value)
            return value
        while predicate(value):
            value = base_pass(value)
        return value

    return wrapped


def this_before_that_pass_constraint(
    this: Callable[..., Any], that: Callable[..., Any]
) -> Callable[[Callable[..., Any], Callable[..., Any]], bool]:
    """A constraint: `that` never stands before `this`.

    >>> this_before_that_pass_constraint(abs, round)(round, abs)
    False
    """

    def holds(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        return not (a == that and b == this)

    return holds


def these_before_those_pass_constraint(
    these: Callable[..., Any], those: Callable[..., Any]
) -> Callable[[Callable[..., Any], Callable[..., Any]], bool]:
    """The same for passes that are wrapped: what the functions wrap is compared.

    >>> counted = loop_pass(abs, n_iter=2)
    >>> these_before_those_pass_constraint(abs, round)(round, counted)
    False
    """

    def holds(a: Callable[..., Any], b: Callable[..., Any]) -> bool:
        unwrap = inspect.unwrap
        return not (unwrap(a) == those and unwrap(b) == these)

    return holds


def _validate_pass_schedule_constraint(
    constraint: Callable[[Callable[..., Any], Callable[..., Any]], bool], passes: list[Callable[..., Any]]
) -> None:
    for place, first in enumerate(passes):
        for then, second in enumerate(passes[place + 1 :], place + 1):
            if not constraint(first, second):
                raise RuntimeError(
                    f"pass schedule constraint violated. Expected {first} before {second} but found {first} at index "
                    f"{place} and {second} at index{then} in pass list."
                )


class PassManager:
    """Run passes, functions of one argument each, one on what the other gave.

    Constraints are functions of two passes: whether the first may stand before the second. RuntimeError, at the first run, where
    one does not hold.

    >>> manager = PassManager([lambda x: x + 1, lambda x: x * 10])
    >>> manager(2)
    30
    """

    passes: list[Callable[..., Any]]
    constraints: list[Callable[..., Any]]
    _validated = False

    def __init__(
        self,
        passes: list[Callable[..., Any]] | None = None,
        constraints: list[Callable[..., Any]] | None = None,
    ) -> None:
        self.passes = passes or []
        self.constraints = constraints or []

    @classmethod
    def build_from_passlist(cls, passes: list[Callable[..., Any]]) -> PassManager:
        """A manager of these passes."""
        return cls(passes)

    def add_pass(self, _pass: Callable[..., Any]) -> None:
        """Put a pass behind the others."""
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint: Callable[..., Any]) -> None:
        """Ask for one more constraint."""
        self.constraints.append(constraint)
        self._validated = False

    def remove_pass(self, _passes: list[str]) -> None:
        """Take out the passes of these names."""
        self.passes = [each for each in self.passes if each.__name__ not in _passes]
        self._validated = False

    def replace_pass(self, _target: Callable[..., Any], _replacement: Callable[..., Any]) -> None:
        """Put another pass in the place of all of one name."""
        self.passes = [_replacement if each.__name__ == _target.__name__ else each for each in self.passes]
        self._validated = False

    def validate(self) -> None:
        """Check the constraints; RuntimeError that names the two passes."""
        if self._validated:
            return
        for constraint in self.constraints:
            _validate_pass_schedule_constraint(constraint, self.passes)
        self._validated = True

    def __call__(self, source: Any) -> Any:
        self.validate()
        for each in self.passes:
            source = each(source)
        return source
