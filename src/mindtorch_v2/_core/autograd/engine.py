"""A run backward, and what is to be done at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C


class _Runs(threading.local):
    """The runs of this thread, innermost last: what each has still to do."""

    def __init__(self) -> None:
        self.open: list[list[Callable[[], Any]]] = []


_runs = _Runs()


def run_backward(tensors: Any, gradients: Any, keep_graph: bool, create_graph: bool, *more: Any) -> tuple[Any, ...]:
    """`_C._run_backward`, and then what was queued meanwhile; nothing of that if it fails."""
    queued: list[Callable[[], Any]] = []
    _runs.open.append(queued)
    inside = _C._set_composing(True)  # formulas are C++ in PyTorch
    try:
        result: tuple[Any, ...] = _C._run_backward(tensors, gradients, keep_graph, create_graph, *more)
        _C._set_composing(inside)
        if queued:
            before = _C.is_grad_enabled()
            _C._set_grad_enabled(bool(create_graph))
            try:
                for callback in queued:  # it may grow
                    callback()
            finally:
                _C._set_grad_enabled(before)
    finally:
        _C._set_composing(inside)
        _runs.open.pop()
    return result


class Engine:
    """`torch.autograd.Variable._execution_engine`, as libraries ask it."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call a function without arguments when the run backward that is under way has ended; RuntimeError if there is none.

        It may be called from hooks, and from such a function. Gradients are in place then, and are recorded only with
        `create_graph`.
        """
        if not _runs.open:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        _runs.open[-1].append(callback)

    def is_checkpoint_valid(self) -> bool:
        """True: gradients may be asked for by `grad` where a part of the program is computed again."""
        return True
