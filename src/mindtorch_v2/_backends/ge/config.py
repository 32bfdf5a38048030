"""Settings of the GE back end, under the names that `torchair.CompilerConfig` has. What is not listed here is not there: setting
it is an error."""

from __future__ import annotations

from typing import Any


class _Section:
    """Attributes with the values that they may have."""

    _allowed: dict[str, tuple] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        where = type(self)._path
        if name not in self._allowed:
            known = ", ".join(self._allowed) or "nothing"
            raise AttributeError(f"CompilerConfig{where} has no setting '{name}' here; it has {known}")
        allowed = self._allowed[name]
        if allowed and value not in allowed:
            raise ValueError(f"CompilerConfig{where}.{name} can be {', '.join(map(repr, allowed))}, got {value!r}")
        object.__setattr__(self, name, value)

    _path = ""


class _Dump(_Section):
    _path = ".debug.graph_dump"
    _allowed = {"type": (None, "air", "pbtxt"), "path": ()}

    def __init__(self) -> None:
        self.type, self.path = None, "."


class _Debug(_Section):
    _path = ".debug"
    _allowed = {"graph_dump": (), "run_eagerly": (False, True)}

    def __init__(self) -> None:
        self.graph_dump, self.run_eagerly = _Dump(), False


class CompilerConfig(_Section):
    """Settings of `get_npu_backend`.

    mode: "max-autotune", a GE graph. Others are of captured streams, which are not graphs of GE.
    debug.run_eagerly: convert, and run the traced graph's own operators instead of the GE graph.
    debug.graph_dump.type: "air" or "pbtxt": write each converted graph to debug.graph_dump.path.
    """

    _allowed = {"debug": (), "mode": ("max-autotune",)}

    def __init__(self) -> None:
        self.debug, self.mode = _Debug(), "max-autotune"


__all__ = ["CompilerConfig"]
