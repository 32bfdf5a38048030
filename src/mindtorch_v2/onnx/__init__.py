"""`torch.onnx` by its names: nothing is exported to ONNX here."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = ["ExportableModule", "ONNXProgram", "OnnxExporterError", "export", "is_in_onnx_export"]

ExportableModule = unavailable_class("torch.onnx.ExportableModule")
ONNXProgram = unavailable_class("torch.onnx.ONNXProgram")
export = unavailable_function("torch.onnx.export")


class OnnxExporterError(RuntimeError):
    """Raised when a program cannot be exported."""


def is_in_onnx_export():
    """Whether an export to ONNX is running: False."""
    return False
