"""`torch.onnx.errors`: what an export raises."""

from __future__ import annotations

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """Warned where an exported model is not all that the program is.

    >>> issubclass(torch.onnx.errors.OnnxExporterWarning, UserWarning)
    True
    """


class OnnxExporterError(RuntimeError):
    """Raised when a program cannot be exported.

    >>> @torch.library.custom_op("docs_onnx::mystery", mutates_args=())
    ... def mystery(x: torch.Tensor) -> torch.Tensor:
    ...     return x.clone()
    >>> _ = mystery.register_fake(torch.empty_like)
    >>> class Model(torch.nn.Module):
    ...     def forward(self, x):
    ...         return mystery(x)
    >>> try:
    ...     torch.onnx.export(Model(), (torch.ones(2),), verbose=False)
    ... except torch.onnx.OnnxExporterError as error:
    ...     print(type(error).__name__)
    NotWrittenError
    """


class UnsupportedOperatorError(OnnxExporterError):
    """Raised for an operator that nobody has written in ONNX.

    >>> issubclass(torch.onnx.errors.UnsupportedOperatorError, torch.onnx.OnnxExporterError)
    True
    """
