"""Engines of quantized arithmetic: whose way of rounding the results of layers have."""

from __future__ import annotations

import sys
import types

__all__ = ["engine", "supported_engines"]

engine: str
supported_engines: list[str]

_ENGINES = ["onednn", "x86", "fbgemm"]


class _Engines(types.ModuleType):
    """The module, whose `engine` can be set."""

    _engine = "x86"

    @property
    def engine(self) -> str:
        """The engine by which layers round: "x86" (as "onednn" in convolutions, as "fbgemm" in linear layers) or one of these."""
        return self._engine

    @engine.setter
    def engine(self, name: str) -> None:
        if name in ("none", "qnnpack"):
            raise RuntimeError(f"quantized engine {'NoQEngine' if name == 'none' else 'QNNPACK'} is not supported")
        if name not in _ENGINES:
            raise RuntimeError(f"{name} is not a valid value for quantized engine")
        type(self)._engine = name

    @property
    def supported_engines(self) -> list[str]:
        """The engines that can be set."""
        return list(_ENGINES)


sys.modules[__name__].__class__ = _Engines
