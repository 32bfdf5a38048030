"""The exceptions of the torch namespace, and those of `torch._dynamo.exc` that layers below it raise."""

from __future__ import annotations

from typing import Any

__all__ = ["AcceleratorError", "OutOfMemoryError", "TorchDynamoException", "Unsupported", "UserError"]


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left."""

    __module__ = "mindtorch_v2"


class AcceleratorError(RuntimeError):
    """Raised when an accelerator's own library fails."""

    __module__ = "mindtorch_v2"


class TorchDynamoException(RuntimeError):
    """The base of what `torch.compile` raises."""

    __module__ = "mindtorch_v2._dynamo.exc"


class Unsupported(TorchDynamoException):
    """Raised under `fullgraph=True` for a program that cannot be captured whole: says why, and where in the program."""

    __module__ = "mindtorch_v2._dynamo.exc"

    def __init__(self, msg: str, *, case_name: str | None = None) -> None:
        super().__init__(msg)
        self.msg = msg
        self.case_name = case_name

    @classmethod
    def of(cls, uncapturable: Any) -> Unsupported:
        """The error for what the capture raised, an Uncapturable."""
        return cls(str(uncapturable), case_name=uncapturable.kind)


class UserError(Unsupported):
    """Raised for a wrong use of `torch.compile` in the program."""

    __module__ = "mindtorch_v2._dynamo.exc"
