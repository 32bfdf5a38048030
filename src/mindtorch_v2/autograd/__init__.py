"""torch.autograd: gradients of recorded programs."""

from __future__ import annotations

from typing import Any

import importlib as _importlib

from .._core.autograd.backward import backward, grad
from .._core.autograd.function import Function, NestedIOFunction
from .._core.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_multithreading_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .. import _C as _C
from . import _profiler_recorder, forward_ad, function, functional, grad_mode, graph
from .anomaly_mode import detect_anomaly, set_detect_anomaly

# From the submodule of the same name: imported here, a later import of it can't take the function's place.
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function",
    "GradcheckError",
    "NestedIOFunction",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def kineto_available() -> bool:
    """Whether the profiler records by the library Kineto: no, by itself.

    >>> torch.autograd.kineto_available()
    False
    """
    return False


def _profiler_enabled() -> bool:
    """Whether a profiler records.

    >>> with torch.autograd.profiler.profile():
    ...     torch.autograd._profiler_enabled()
    True
    """
    return bool(_profiler_recorder.active)


def _record_function_with_args_enter(name: str, *args: Any) -> Any:
    """A marked range that begins, for `_record_function_with_args_exit`: execution traces have its values."""
    return _importlib.import_module("mindtorch_v2.autograd.profiler").record_function(name, args).__enter__()


def _record_function_with_args_exit(handle: Any) -> None:
    """The end of the range."""
    handle.__exit__(None, None, None)


def _is_checkpoint_valid() -> bool:
    """Whether a part of the program may be computed again in the run backward that is under way: True."""
    return True


def _calculate_shape(output, grad, is_grads_batched) -> tuple:
    """The shapes of an output and of its gradient, without the batch's dimension."""

    def sizes(tensor: Any) -> Any:
        nested = tensor.is_nested and tensor.layout == _C.strided
        return tensor._nested_tensor_size() if nested else tensor.shape

    of_gradient = sizes(grad)
    return sizes(output), of_gradient[1:] if is_grads_batched else of_gradient


def __getattr__(name: str) -> Any:
    if name in ("profiler", "profiler_util"):
        return _importlib.import_module(f"mindtorch_v2.autograd.{name}")
    raise AttributeError(f"module 'mindtorch_v2.autograd' has no attribute {name!r}")
