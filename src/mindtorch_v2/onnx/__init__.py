"""`torch.onnx` by its names: nothing is exported to ONNX here.

Libraries say at import how their operators are written in ONNX. They may: nobody reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function

__all__ = [
    "ExportableModule",
    "ONNXProgram",
    "OnnxExporterError",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

ExportableModule = unavailable_class("torch.onnx.ExportableModule")
ONNXProgram = unavailable_class("torch.onnx.ONNXProgram")
export = unavailable_function("torch.onnx.export")


class OnnxExporterError(RuntimeError):
    """Raised when a program cannot be exported."""


def is_in_onnx_export() -> bool:
    """Whether an export to ONNX is running: False."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Say how an operator is written in ONNX: not kept, there is no export."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take back what `register_custom_op_symbolic` said: nothing was kept."""
