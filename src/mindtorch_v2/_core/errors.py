"""The exceptions of the torch namespace, and those of `torch._dynamo.exc` that layers below it raise."""

from __future__ import annotations

from typing import Any

__all__ = ["AcceleratorError", "OutOfMemoryError", "TorchDynamoException", "Unsupported", "UserError"]


class OutOfMemoryError(RuntimeError):
    """Raised when a device has no memory left.

    >>> def step(size):
    ...     if size > 32:
    ...         raise torch.OutOfMemoryError("tried to allocate 2.00 GiB")  # as a device does
    ...     return size
    >>> size = 128
    >>> while True:
    ...     try:
    ...         result = step(size)
    ...         break
    ...     except torch.OutOfMemoryError:
    ...         size //= 2
    >>> result
    32
    """

    __module__ = "mindtorch_v2"


class AcceleratorError(RuntimeError):
    """Raised when an accelerator's own library fails.

    >>> issubclass(torch.AcceleratorError, RuntimeError), torch.AcceleratorError("the device was reset")
    (True, AcceleratorError('the device was reset'))
    """

    __module__ = "mindtorch_v2"


class TorchDynamoException(RuntimeError):
    """The base of what `torch.compile` raises."""

    __module__ = "mindtorch_v2._dynamo.exc"


_ANY_REMEDY = (
    "move it out of the compiled function, or leave out fullgraph=True: the program is cut here and runs in parts."
)
CAPTURE_REMEDIES = {
    "autograd_function": "dynamic=False, and a forward that returns what it computes instead of writing it.",
    "cond": "functions that take and return tensors of the same shapes and dtypes, and write to nothing outside.",
    "data_dependent": "torch.where chooses between tensors, torch.cond between functions, torch.while_loop repeats one: these "
    "are captured. Or leave out fullgraph=True: the program is cut here and runs in parts.",
    "disabled": "take the mark (torch.compiler.disable) off it, or leave out fullgraph=True.",
    "dynamic": "torch.compile(dynamic=False), which makes a graph for each size.",
    "no_fake_kernel": "tell the shapes of its results: torch.library.register_fake.",
    "no_source": "give torch.compile a Python function that calls it.",
    "write": "return the new value, and assign it outside of the compiled function.",
}
"""The remedy for each kind of refusal to capture a program, by its kind."""


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
        remedy = CAPTURE_REMEDIES.get(uncapturable.kind, _ANY_REMEDY)
        return cls(f"{uncapturable}\n  Remedy: {remedy}", case_name=uncapturable.kind)


class UserError(Unsupported):
    """Raised for a wrong use of `torch.compile` in the program."""

    __module__ = "mindtorch_v2._dynamo.exc"
