"""The packages that know ONNX: `onnxscript`, which writes PyTorch's operators in ONNX, and `onnx_ir`, which holds graphs.

They are imported when something is exported, never before. onnxscript imports `torch` for a few questions about versions; it
is handed this package, so that no PyTorch is imported beside it and none is needed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.onnx.errors import OnnxExporterError

__all__ = ["NATIVE_OPSET", "graphs", "qualified_name", "quiet", "required", "script", "translations"]

NATIVE_OPSET = 18
"""The version of ONNX that onnxscript's operators are written in; models are converted from it to others."""


def required(name: str) -> ModuleType:
    """Import an optional package; OnnxExporterError if it is not installed."""
    try:
        with _torch_is_ours():
            return importlib.import_module(name)
    except ImportError as error:
        missing = error.name or name
        raise OnnxExporterError(
            f"Module {missing} is not installed! torch.onnx.export needs onnxscript: pip install 'mindtorch_v2[onnx]'"
        ) from error


@contextlib.contextmanager
def _torch_is_ours() -> Iterator[None]:
    """Let `import torch` give this package, unless some torch is imported already."""
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = torch
    try:
        yield
    finally:
        del sys.modules["torch"]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Within the block the libraries tell errors only: what their passes leave alone is no matter of the user's."""
    loggers = [logging.getLogger(name) for name in ("onnx_ir", "onnxscript")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before):
            logger.setLevel(level)


def graphs() -> Any:
    """The package `onnx_ir`."""
    return required("onnx_ir")


def script() -> Any:
    """The package `onnxscript`."""
    return required("onnxscript")


@functools.cache
def translations() -> dict[tuple[str, bool], Callable[..., Any]]:
    """Functions of onnxscript by (qualified name, such as "aten::add.Tensor"; whether for complex numbers)."""
    required("onnxscript.function_libs.torch_lib.ops")
    registry = required("onnxscript.function_libs.torch_lib.registration").default_registry
    found: dict[tuple[str, bool], Callable[..., Any]] = {}
    for name, written in registry.items():
        for is_complex, functions in ((False, written.overloads), (True, written.complex)):
            if functions:
                found[name, is_complex] = functions[0]
    return found


def qualified_name(target: Any) -> str:
    """The name by which onnxscript knows an operator, or a function of Python that computes sizes."""
    if isinstance(target, OpOverload):
        overload = target._overloadname
        return target._schema.name + ("" if overload in ("", "default") else f".{overload}")
    return f"{target.__module__}::{target.__name__}"
