"""`torch.onnx.errors`: what an export raises."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """Warned where an exported model is not all that the program is."""


class OnnxExporterError(RuntimeError):
    """Raised when a program cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """Raised for an operator that nobody has written in ONNX."""
