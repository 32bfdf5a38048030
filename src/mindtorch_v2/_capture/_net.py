"""The nets under a program that is captured: torch calls that come by ways unforeseen, and values that are asked for.

Own nothing: what falls into them goes to the recorder's graph, or ends the capture.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload, OpOverloadPacket
from mindtorch_v2._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from mindtorch_v2.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["CallNet", "ValueNet"]

_OPERATORS = {
    f"__{name}__": getattr(operator, name, None) or getattr(operator, name + "_")
    for name in "add sub mul truediv floordiv mod pow matmul lshift rshift and or xor neg invert getitem setitem".split()
    + "lt le gt ge eq ne iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift abs".split()
}


class CallNet(TorchFunctionMode):
    """Catch calls that reach torch by a way that the trace did not see coming."""

    sees_attributes = False

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, OpOverload | OpOverloadPacket):  # what the recorder itself calls
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if type(func).__name__ == "wrapper_descriptor":
            if name in _OPERATORS:
                return self.trace.graph.record("call_function", _OPERATORS[name], args, kwargs)
            if name.startswith("__r") and f"__{name[3:]}" in _OPERATORS:
                return self.trace.graph.record("call_function", _OPERATORS[f"__{name[3:]}"], args[::-1], kwargs)
            self.trace.refuse(f"{name} of a tensor cannot be captured")
        if type(func).__name__ == "Method" and args and isinstance(args[0], torch.Tensor):
            return self.trace.graph.record("call_method", name, args, kwargs)
        return self.trace.graph.record("call_function", func, args, kwargs)


def _has_sparse(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_sparse, value))
    return isinstance(value, torch.Tensor) and value.layout not in (torch.strided, torch.jagged)


class ValueNet(FakeTensorMode):
    """Fake tensors of a trace: where a value is asked for, the capture has failed, whoever catches the error."""

    def __init__(self, trace: Recorder) -> None:
        super().__init__()
        self.trace = trace

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        try:
            made = super().__torch_dispatch__(func, types, args, kwargs)
            if _has_sparse(made) or _has_sparse(args):
                raise DynamicOutputShapeException(func)  # how many items it has, only values tell
            return made
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            self.trace.note_failure(f"the result of {error.func} depends on values", "data_dependent")
            raise
        except UnsupportedOperatorException as error:
            self.trace.note_failure(f"{error.func} has no kernel for fake tensors", "no_fake_kernel")
            raise
