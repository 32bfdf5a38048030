"""Element-wise kernels in CUDA C++, compiled at their first call: there is no GPU that would run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2._core.unavailable import unavailable_function

__all__: list[str] = []


def _create_jit_fn(code_string: str, **kwargs: Any) -> Callable[..., Any]:
    """A function for a kernel's source: calling it raises NotImplementedError."""
    return unavailable_function("torch.cuda.jiterator", "kernels in CUDA C++ need a GPU")


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Callable[..., Any]:
    """The same for a kernel with several results."""
    return _create_jit_fn(code_string, **kwargs)
