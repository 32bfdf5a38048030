"""A trace: one run of an instrumented program, by the parts that know something about it; and where it gives up.

Four parts hold what is recorded: the graph its nodes and tensors, the sources where values came from, the guards what has
to hold of them, the writes what is due to objects outside. The others are the language, as instrumented copies ask for it:
each does one kind of thing that a program does, by way of those four.

The recorder itself owns the objects that are kept alive because their ids are, and the refusal that ended the capture.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
from typing import Any, NoReturn

import mindtorch_v2 as torch
from mindtorch_v2._capture._attributes import Attributes
from mindtorch_v2._capture._blocks import Blocks
from mindtorch_v2._capture._calls import Calls
from mindtorch_v2._capture._comparisons import Comparisons
from mindtorch_v2._capture._functions import Functions
from mindtorch_v2._capture._graph import TracedGraph
from mindtorch_v2._capture._instances import Instances
from mindtorch_v2._capture._items import Items
from mindtorch_v2._capture._iteration import Iteration
from mindtorch_v2._capture._noted_guards import NotedGuards
from mindtorch_v2._capture._operators import Operators
from mindtorch_v2._capture._origins import Sources
from mindtorch_v2._capture._result import Uncapturable
from mindtorch_v2._capture._rewrite import WITHIN_COPIES
from mindtorch_v2._capture._tensors import Tensors
from mindtorch_v2._capture._texts import Texts
from mindtorch_v2._capture._values import Values
from mindtorch_v2._capture._varying import Varying
from mindtorch_v2._capture._writes import Writes

__all__ = ["Recorder", "line_of"]


class Recorder:
    """A trace by its parts. `varying` tells which sizes and numbers may differ between calls.

    With `records_data` numbers that are read out of tensors become nodes. With `keeps_writes` variables and containers outside may
    change.
    """

    def __init__(self, varying: Varying, records_data: bool, keeps_writes: bool) -> None:
        self.keeps_writes = keeps_writes
        self.kept: list[Any] = []  # what ids are taken of
        self.failed: Uncapturable | None = None
        # What is recorded.
        self.guards = NotedGuards(self.kept)
        self.sources = Sources(self)
        self.writes = Writes(self)
        self.graph = TracedGraph(self, varying, records_data)
        # The language.
        self.values = Values(self)
        self.attributes = Attributes(self)
        self.items = Items(self)
        self.iteration = Iteration(self)
        self.operators = Operators(self)
        self.comparisons = Comparisons(self)
        self.texts = Texts(self)
        self.blocks = Blocks(self)
        self.tensors = Tensors(self)
        self.calls = Calls(self)
        self.functions = Functions(self)
        self.instances = Instances(self)

    def refuse(self, reason: str, kind: str = "unsupported") -> NoReturn:
        """Give the capture up."""
        self.fail(Uncapturable(reason, kind))

    def note_failure(self, reason: str, kind: str) -> None:
        """Give the capture up, at the next chance."""
        if self.failed is None:
            self.failed = Uncapturable(reason, kind, self.location())

    def fail(self, error: Uncapturable) -> NoReturn:
        """Give the capture up for good, with the place that the program is at."""
        if error.location is None:
            error.location = self.location()
        if self.failed is None:
            self.failed = error
        raise self.failed

    def alive(self) -> None:
        """Raise again what the program may have caught."""
        if self.failed is not None:
            raise self.failed

    def location(self) -> tuple[str, int, str] | None:
        """Where the program is: the innermost line of the user's code, else of any code that is traced."""
        frame: Any = sys._getframe(1)
        found = None
        while frame is not None:
            code = frame.f_code
            if WITHIN_COPIES in code.co_qualname:
                place = line_of(code, frame.f_lineno)
                found = found or place
                if not _is_library(code.co_filename):
                    return place
            frame = frame.f_back
        return found


_PACKAGE = torch.__path__[0]
_STANDARD = contextlib.__file__.rpartition("/")[0]


def line_of(code: Any, number: int) -> tuple[str, int, str]:
    """A line of a code's file as a location: `(file name, line number, source line)`."""
    return code.co_filename, number, linecache.getline(code.co_filename, number)


def _is_library(name):
    return name.startswith((_PACKAGE, "<frozen")) or name.startswith(_STANDARD) and "site-packages" not in name
