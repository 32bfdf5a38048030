"""How a case is registered: its name, its group, and the bar that it is held to."""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Prepare = Callable[[ModuleType], Callable[[], Any]]


@dataclass(frozen=True)
class Bar:
    """The least speed that passes: the reference's time divided by ours. `threads`: the thread count it holds for."""

    speed: float
    threads: int = 2


@dataclass(frozen=True)
class Case:
    """One thing to time. `prepare(torch)` builds the inputs and returns a function without arguments.

    `geometric` names a set of cases whose geometric mean has a bar of its own (see `GEOMETRIC_BARS`).
    """

    name: str
    group: str
    prepare: Prepare
    bar: Bar | None = None
    geometric: str | None = None
    slow: bool = False


CASES: dict[str, Case] = {}
GEOMETRIC_BARS = {"training-size kernels": Bar(2.0)}


def case(
    name: str, group: str, bar: Bar | None = None, geometric: str | None = None, slow: bool = False
) -> Callable[[Prepare], Prepare]:
    """Register the decorated function as a case. `slow` cases are measured in fewer rounds."""

    def register(prepare: Prepare) -> Prepare:
        add(Case(name, group, prepare, bar, geometric, slow))
        return prepare

    return register


def add(new: Case) -> None:
    """Register a case that was built in a loop."""
    if new.name in CASES:
        raise ValueError(f"two benchmark cases are named {new.name!r}")
    CASES[new.name] = new
