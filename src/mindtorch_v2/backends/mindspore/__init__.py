"""MindSpore's CPU primitives as a back end below our operators: `enable`, `disable`, `report`. Never on by itself.

A plug-in of this folder alone: its kernels are registered as anybody's are, and what they cover counts again when they go.
A row of the table (`_rows.py`) names an operator, a primitive, the order of its arguments and its dtypes. Gradients are by our
formulas. The guide is `docs/mindspore.md`.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable

from mindtorch_v2 import status
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2.backends.mindspore._provider import Counted, Counts, Kernel, countable, full_name
from mindtorch_v2.backends.mindspore._rows import TABLE
from mindtorch_v2.interop._mindspore import import_mindspore
from mindtorch_v2.library import Library

__all__ = ["Report", "disable", "enable", "is_enabled", "operators", "report"]


@dataclasses.dataclass(frozen=True)
class Report:
    """Calls since the last `enable`, by operator: those that primitives answered, and those of our kernels with the reasons."""

    enabled: bool
    primitives: dict[str, str]
    served: dict[str, int]
    ours: dict[str, dict[str, int]]

    def __str__(self) -> str:
        kept = sum(sum(reasons.values()) for reasons in self.ours.values())
        lines = [f"MindSpore is {'on' if self.enabled else 'off'}; {len(self.primitives)} operators had primitives"]
        lines += [f"{sum(self.served.values())} calls by its primitives"]
        lines += [f"  {name} by {self.primitives[name]}: {count}" for name, count in sorted(self.served.items())]
        lines += [f"{kept} calls by our kernels"]
        for name, reasons in sorted(self.ours.items()):
            lines += [f"  {name}: {', '.join(f'{count} ({reason})' for reason, count in sorted(reasons.items()))}"]
        return "\n".join(lines)


class _State:
    """Registrations, and their counts."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.library: Library | None = None
        self.counts = Counts()
        self.primitives: dict[str, str] = {}


_state = _State()


def operators() -> dict[str, str]:
    """Return the operators that MindSpore can serve and the primitive of each: {"add.Tensor": "add_ext", ...}."""
    return {row.operator: row.primitive for row in TABLE}


def is_enabled() -> bool:
    """Whether MindSpore's primitives serve now."""
    return _state.library is not None


def enable(ops: Iterable[str] | None = None) -> None:
    """Put MindSpore's primitives below our operators on the CPU, in every thread, until `disable()`.

    Args:
        ops: names of operators, "add.Tensor" or "add" for every overload; all that have a primitive if not given. With
            names only these are served and counted.

    Calls that a primitive cannot do (dtype, arguments) go to our kernel, as do operators without a primitive; `report()`
    counts them. A second call starts anew. Slower by far than our kernels: a synchronous addition costs hundreds of
    microseconds.

    Raises ImportError without MindSpore, ValueError for operators that have no primitive.
    """
    import_mindspore("backends.mindspore.enable")
    chosen = TABLE if ops is None else _named(ops)
    with _state.lock:
        _disable()
        _state.counts = Counts()
        kernels = [Kernel(row, _state.counts) for row in chosen]
        _state.primitives = {kernel.name: kernel.row.primitive for kernel in kernels}
        library = Library("aten", "IMPL", "CPU")
        for kernel in kernels:
            library._register(kernel.handle, kernel, "CPU", quiet=True)
        if ops is None:
            for row in ROWS.values():
                for handle in (row.handle, row.inplace, row.out):
                    if handle is not None and full_name(handle) not in _state.primitives and countable(handle):
                        library._register(handle, Counted(handle, _state.counts), "CPU", quiet=True)
        _state.library = library
        status.add_provider("mindspore", lambda row: full_name(row.handle) in _state.primitives)


def _named(ops: Iterable[str]) -> list:
    if isinstance(ops, str):
        raise TypeError(f"enable(): ops is a list of names, got the string {ops!r}: enable([{ops!r}])")
    chosen = []
    for name in dict.fromkeys(ops):
        found = [row for row in TABLE if name in (row.operator, row.operator.partition(".")[0])]
        if not found:
            raise ValueError(
                f"enable(): no primitive for the operator {name!r}; backends.mindspore.operators() lists those that have one"
            )
        chosen += [row for row in found if row not in chosen]
    return chosen


def disable() -> None:
    """Let our own kernels run again. `report()` keeps what was counted."""
    with _state.lock:
        _disable()


def _disable() -> None:
    library, _state.library = _state.library, None
    if library is not None:
        library._destroy()
        status.remove_provider("mindspore")


def report() -> Report:
    """Return what was counted since the last `enable()`; text as `str`."""
    served, ours = _state.counts.copied()
    return Report(is_enabled(), dict(_state.primitives), served, ours)
