"""The exceptions of the torch namespace."""

__all__ = ["AcceleratorError", "OutOfMemoryError"]


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left."""

    __module__ = "mindtorch_v2"


class AcceleratorError(RuntimeError):
    """Raised when an accelerator's own library fails."""

    __module__ = "mindtorch_v2"
