"""The modules that calls really enter."""

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any


def trace_dependencies(callable: Callable[..., Any], inputs: Iterable[tuple[Any, ...]]) -> list[str]:
    """Call `callable` with each tuple of arguments; return the names of the modules whose functions ran.

    >>> import textwrap
    >>> "textwrap" in trace_dependencies(textwrap.dedent, [(" a",)])
    True
    """
    found: set[str] = set()

    def record(frame: FrameType, event: str, arg: Any) -> None:
        name = None
        if event == "call":
            name = frame.f_globals.get("__name__")
        elif event == "c_call":
            name = getattr(arg, "__module__", None)
        if isinstance(name, str):
            found.add(name)

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        for arguments in inputs:
            callable(*arguments)
    finally:
        sys.setprofile(before)
    return sorted(found - {__name__, "sys"})
