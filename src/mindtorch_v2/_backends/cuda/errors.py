"""The errors of the CUDA back end, in PyTorch's words."""

from __future__ import annotations

from mindtorch_v2._core.errors import AcceleratorError, OutOfMemoryError

OUT_OF_MEMORY = frozenset({2})
# Errors of work that was enqueued before: the context is lost, and every later call returns the same.
STICKY = frozenset({214, 700, 702, 710, 714, 715, 716, 717, 718, 719, 720, 721})


class CUDAError(AcceleratorError):
    """A call of CUDA's driver or of one of its libraries that failed.

    Attributes: `function` (the call), `code` (what it returned), `name` (of the code).
    """

    def __init__(self, function: str, code: int, name: str, text: str, note: str = "") -> None:
        self.function, self.code, self.name = function, code, name
        super().__init__(f"CUDA error: {text}\n{function} returned {code} ({name}).{note}")


class CUDAOutOfMemoryError(CUDAError, OutOfMemoryError):
    """No device memory left, after the cache was given back."""

    def __init__(self, function: str, code: int, name: str, text: str) -> None:
        self.function, self.code, self.name = function, code, name
        RuntimeError.__init__(self, text)
