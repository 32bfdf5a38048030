"""The operators `torch.ops.profiler`: ranges of `record_function` as calls, which graphs of programs hold."""

from __future__ import annotations

import itertools
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.library import Library

_LIBRARY = Library("profiler", "DEF")
_LIBRARY.define("_record_function_enter(str name, str? args=None) -> Tensor")
_LIBRARY.define("_record_function_exit(Tensor handle) -> ()")


def define(record_function: Any) -> None:
    """Let the operators enter and leave ranges of this kind."""
    numbers = itertools.count()
    opened: dict[int, Any] = {}

    def enter(name: str, args: str | None = None) -> torch.Tensor:
        number = next(numbers)
        opened[number] = record_function(name, args).__enter__()
        return torch.frombuffer(bytearray(number.to_bytes(8, "little")), dtype=torch.uint8)

    def leave(handle: torch.Tensor) -> None:
        found = opened.pop(int.from_bytes(bytes(handle.tolist()), "little"), None)
        if found is not None:  # as PyTorch forgives that one is left twice
            found.__exit__(None, None, None)

    _LIBRARY.impl("_record_function_enter", enter, "CompositeExplicitAutograd")
    _LIBRARY.impl("_record_function_exit", leave, "CompositeExplicitAutograd")
