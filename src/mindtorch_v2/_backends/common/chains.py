"""Chains of element-wise calls as one kernel: what a back end says of itself to the compiler, which knows no back end.

A back end that can put calls together registers two functions for its type of device:

* ``takes(step, dtypes)``: whether it has the call's expression for tensors of these dtypes (a dtype for each `Place`),
* ``make(name, inputs, steps, outputs)``: the kernel of a chain, called ``run(results, tensors)``, which fills the results.

`inputs` are the dtypes of the tensors that a chain reads, the places 0, 1, ...; each step's results take the next ones. `outputs`
are the places that somebody else reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Maker", "Place", "Step", "find", "register"]


class Place(int):
    """Which value of a chain an argument is."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A call: the operator's overload, its arguments by name (a `Place` for a tensor), and the dtypes of its results.

    `common` is the dtype that tensors and numbers among the arguments promote to, None where there are more than two.
    """

    target: Any
    given: Mapping[str, Any]
    results: tuple[Any, ...]
    common: Any


Run = Callable[[tuple[Any, ...], tuple[Any, ...]], None]


@dataclasses.dataclass(frozen=True)
class Maker:
    """The two functions that a back end registers. `most` is how many tensors a kernel may have, results and arguments together."""

    takes: Callable[[Step, Mapping[int, Any]], bool]
    make: Callable[[str, Sequence[Any], Sequence[Step], Sequence[int]], Run]
    most: int


_MAKERS: dict[str, Maker] = {}


def register(device: str, maker: Maker) -> None:
    """State what a type of device can do."""
    _MAKERS[device] = maker


def find(device: str) -> Maker | None:
    """The functions that a type of device has registered; None without any."""
    return _MAKERS.get(device)
