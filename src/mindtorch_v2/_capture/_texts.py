"""Texts of values: in f-strings, by `%`, `str` and `repr`.

Owns no state.
"""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._sources import look_up

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["Texts"]


class Texts:
    """Part of a recorder: texts."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self.sources = trace.sources

    def filled(self, text: Any, values: Any) -> str:
        """`text % values`."""
        values = self.trace.values.deep(values)
        if not self.trace.values.is_plain(values):
            self.trace.refuse(f"the text of a {type(values).__name__}", "format")
        return text % values

    def of(self, value: Any, conversion: int, spec: str) -> str:
        """The text in an f-string for `value`."""
        if isinstance(value, torch.Tensor):
            self.trace.refuse("the text of a tensor depends on its values", "data_dependent")
        if self.sources.source_of(value) is not None and type(value) in (list, dict, set):
            value = self.trace.values.deep(value)
        if not (self.trace.values.is_plain(value) or isinstance(value, BaseException)):
            method = look_up(type(value), "__repr__" if conversion == 114 else "__str__")
            if type(method) is not types.FunctionType:
                method = look_up(type(value), "__repr__")
            if type(method) is not types.FunctionType or spec:
                self.trace.refuse(f"the text of a {type(value).__name__} cannot be captured", "format")
            return self.trace.calls.call(method, value)
        if conversion in (114, 97):
            value = repr(value) if conversion == 114 else ascii(value)
        elif conversion == 115:
            value = str(value)
        return format(value, spec)
