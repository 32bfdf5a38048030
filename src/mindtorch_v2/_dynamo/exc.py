"""The errors that `torch.compile` raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2._core.errors import TorchDynamoException, Unsupported, UserError

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "IncorrectUsage",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "RecompileError",
    "RecompileLimitExceeded",
    "ResetRequired",
    "TorchDynamoException",
    "UncapturedHigherOrderOpError",
    "Unsupported",
    "UserError",
]


class InvalidBackend(TorchDynamoException):
    """Raised for a name that no back end has."""

    def __init__(self, name: str) -> None:
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class ResetRequired(TorchDynamoException):
    """Raised where `torch._dynamo.reset()` has to be called first."""


class BackendCompilerFailed(TorchDynamoException):
    """Raised where a back end raises: `inner_exception` is what it raised."""

    def __init__(self, backend_fn: Callable[..., Any], inner_exception: Exception) -> None:
        self.backend_name = getattr(backend_fn, "__name__", type(backend_fn).__name__)
        self.inner_exception = inner_exception
        super().__init__(f"backend={self.backend_name!r} raised:\n{type(inner_exception).__name__}: {inner_exception}")


class UncapturedHigherOrderOpError(TorchDynamoException):
    """Raised where the functions given to an operator of control flow do more than compute, or do not fit together."""


class RecompileError(TorchDynamoException):
    """Raised where a function would be compiled again and must not be."""


class RecompileLimitExceeded(TorchDynamoException):
    """The base of errors about too many compilations of one function."""


class FailOnRecompileLimitHit(RecompileLimitExceeded):
    """Raised under `fullgraph=True` for a function that has been compiled as often as the limit allows."""


class IncorrectUsage(Exception):
    """Raised where a part of `torch._dynamo` is used in a way that it is not meant for."""


class InternalTorchDynamoError(TorchDynamoException):
    """The error of PyTorch's compiler about itself; nothing raises it here."""
