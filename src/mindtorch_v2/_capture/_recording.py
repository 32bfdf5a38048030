"""A trace by its parts, and where it gives up."""

from __future__ import annotations

import contextlib
import linecache
import sys
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._graph import TracedGraph
from mindtorch_v2._capture._origins import Sources
from mindtorch_v2._capture._result import Uncapturable
from mindtorch_v2._capture._writes import Writes

if TYPE_CHECKING:
    from mindtorch_v2._capture._trace import _Dynamic


__all__ = ["Recorder"]


class Recorder:
    """A trace: its graph, its sources, its writes; and where it has to give up."""

    def __init__(self, dynamic_sizes: _Dynamic) -> None:
        self.graph = TracedGraph(self, dynamic_sizes)
        self.sources = Sources(self)
        self.writes = Writes(self)
        self.kept: list = []  # what ids are taken of
        self.failed: Uncapturable | None = None

    # ---- refusals ----

    def refuse(self, reason: Any, kind: Any = "unsupported") -> None:
        """Give the capture up."""
        self.fail(Uncapturable(reason, kind))

    def note_failure(self, reason: Any, kind: Any) -> None:
        """Give the capture up, at the next chance."""
        if self.failed is None:
            self.failed = Uncapturable(reason, kind, self.location())

    def fail(self, error: Uncapturable) -> Any:
        """Give the capture up for good, with the place that the program is at."""
        if error.location is None:
            error.location = self.location()
        if self.failed is None:
            self.failed = error
        raise self.failed

    def location(self) -> Any:
        """Where the program is: the innermost line of the user's code, else of any code that is traced."""
        frame: Any = sys._getframe(1)
        found = None
        while frame is not None:
            code = frame.f_code
            if "__mt_h" in code.co_freevars:
                place = (code.co_filename, frame.f_lineno, self._line(code.co_filename, frame.f_lineno))
                found = found or place
                if not _is_library(code.co_filename):
                    return place
            frame = frame.f_back
        return found

    @staticmethod
    def _line(name, number):
        return linecache.getline(name, number)

    def alive(self) -> None:
        """Raise again what the program may have caught."""
        if self.failed is not None:
            raise self.failed


_PACKAGE = torch.__path__[0]
_STANDARD = contextlib.__file__.rpartition("/")[0]


def _is_library(name):
    return name.startswith((_PACKAGE, "<frozen")) or name.startswith(_STANDARD) and "site-packages" not in name
