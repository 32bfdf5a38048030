"""Blocks of with, try and match statements.

Owns which blocks the program is in whose handlers catch errors, whether calls were recorded in one, and which autocasts
are entered.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._rewrite import DECIDED_BY_FORM
from mindtorch_v2._sizes.recorded import RecordedInt

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder
    from mindtorch_v2.fx.node import Node


__all__ = ["Blocks"]


class _Context:
    """A context manager of the program's, entered and left through the trace."""

    def __init__(self, trace: Recorder, manager: Any) -> None:
        self.trace, self.manager = trace, manager
        self.suppresses = isinstance(manager, contextlib.suppress)

    def __enter__(self) -> Any:
        self.trace.blocks.tries += self.suppresses
        self.leave = self.trace.attributes.get(self.manager, "__exit__")
        return self.trace.calls.call(self.trace.attributes.get(self.manager, "__enter__"))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: types.TracebackType | None
    ) -> bool | None:
        self.trace.blocks.tries -= self.suppresses
        if self.trace.failed is not None:
            return False
        return self.trace.comparisons.truth(self.trace.calls.call(self.leave, kind, error, traceback))


class _Trying:
    """The block of a try statement with handlers: errors that calls in it make in a later run would be caught.

    `classes` are those of the handlers, where all are known not to depend on values: then it is the first run that shows.
    """

    def __init__(self, blocks: Blocks, classes: Sequence[type[Exception]]) -> None:
        self.blocks = blocks
        self.by_values = not classes or not all(each is DECIDED_BY_FORM.get(each.__name__) for each in classes)

    def __enter__(self) -> None:
        self.blocks.tries += self.by_values
        self.blocks.tries_by_form += not self.by_values

    def __exit__(self, *error: Any) -> None:
        self.blocks.tries -= self.by_values
        self.blocks.tries_by_form -= not self.by_values


class Blocks:
    """Part of a recorder: the blocks that the program is in."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.tries = 0  # blocks of try statements that the program is in
        self.tries_by_form = 0  # those whose handlers catch what does not depend on values
        self.called_in_try = False
        self.called_in_try_by_form = False
        self._autocasts: list[tuple[Node, Any]] = []  # (node, what is entered), innermost last

    def note_call(self) -> None:
        """Note that a call was recorded, in the blocks that the program is in."""
        if self.tries:
            self.called_in_try = True
        if self.tries_by_form:
            self.called_in_try_by_form = True

    def context(self, manager: Any) -> _Context:
        """The context that a with statement enters for `manager`."""
        self.trace.alive()
        return _Context(self.trace, manager)

    def trying(self, classes: Sequence[type[Exception]]) -> _Trying:
        """Around the block of a try statement."""
        return _Trying(self, classes)

    def caught(self) -> None:
        """At the begin of a handler: what makes the capture impossible cannot be caught."""
        self.trace.alive()

    def subject(self, value: Any) -> Any:
        """The value that a match statement looks at."""
        if self.trace.sources.source_of(value) is not None or not (
            self.trace.values.is_plain(value) or isinstance(value, (list, tuple, dict))
        ):
            self.trace.refuse(f"a match statement over a {type(value).__name__} cannot be captured", "match")
        if isinstance(value, RecordedInt):
            return value.__index__()
        return value

    # ---- autocast ----

    def enter_autocast(self, *settings: Any) -> None:
        """Enter autocast: now, and in the graph."""
        enter = torch.amp.autocast_mode._enter_autocast
        node = self.trace.graph.write(enter, settings)
        self._autocasts.append((node, enter(*settings)))

    def exit_autocast(self) -> None:
        """Leave the autocast that was entered last: now, and in the graph."""
        leave = torch.amp.autocast_mode._exit_autocast
        node, entered = self._autocasts.pop()
        self.trace.graph.write(leave, (node,))
        leave(entered)

    def leave(self) -> None:
        """Leave what a program that failed is still in."""
        for _, entered in reversed(self._autocasts):
            torch.amp.autocast_mode._exit_autocast(entered)
