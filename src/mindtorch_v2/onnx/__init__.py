"""`torch.onnx`: programs written in ONNX, by `torch.export` and the package onnxscript (`pip install 'mindtorch_v2[onnx]'`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2.onnx import errors
from mindtorch_v2.onnx._export import export, is_in_onnx_export
from mindtorch_v2.onnx._program import ONNXProgram
from mindtorch_v2.onnx.enums import OperatorExportTypes, TensorProtoDataType, TrainingMode
from mindtorch_v2.onnx.errors import OnnxExporterError
from mindtorch_v2._core.unavailable import unavailable_class

__all__ = [
    "ExportableModule",
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TensorProtoDataType",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

ExportableModule = unavailable_class("torch.onnx.ExportableModule")


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Say how the exporter by TorchScript writes an operator: not kept, there is none; see `export(custom_translation_table=...)`."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Take back what `register_custom_op_symbolic` said: nothing was kept."""
