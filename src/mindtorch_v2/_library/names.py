"""Names of operators, and where registrations were made."""

from __future__ import annotations

import sys
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above

__all__ = ["caller", "find_handle", "handle_named", "qualified", "split_name"]


def split_name(qualname: str) -> tuple:
    """Namespace and name of "ns::name"; raises ValueError if there is not exactly one "::" in it."""
    parts = qualname.split("::") if isinstance(qualname, str) else ()
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def handle_named(name: str) -> Any:
    """The operator "ns::name" or "ns::name.overload" of the registry, or None."""
    base, _, overload = name.partition(".")
    return _C._find_operator(base, "" if overload == "default" else overload)


def find_handle(name: str) -> Any:
    """The operator of that name; raises RuntimeError if there is none."""
    handle = handle_named(name)
    if handle is None and above.companion_operators(name.partition("::")[0]):
        handle = handle_named(name)
    if handle is None:
        raise RuntimeError(f"operator {name} does not exist")
    return handle


def qualified(handle: Any) -> str:
    """ "ns::name" or "ns::name.overload"."""
    return f"{handle.namespace}::{handle.name}" + (f".{handle.overload}" if handle.overload else "")


def caller() -> str:
    """File and line of the code outside of this package that is registering something."""
    frame: Any = sys._getframe(1)
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame is not None else "<unknown>"
