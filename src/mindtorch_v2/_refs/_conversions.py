"""`torch._refs._conversions`: tensors as another dtype, by the names of the tensor's methods; and torch's functions that make
complex ones."""

from __future__ import annotations

import functools
from typing import Any

import mindtorch_v2 as torch

__all__ = sorted(
    name for name in vars(torch) if isinstance(vars(torch)[name], torch.dtype) and hasattr(torch.Tensor, name)
)


def _convert(name: str, self: torch.Tensor, memory_format: Any = torch.preserve_format) -> torch.Tensor:
    return getattr(self, name)(memory_format=memory_format)


def __getattr__(name: str) -> Any:
    if not name.startswith("_") and hasattr(torch, name) and not isinstance(getattr(torch, name), torch.dtype):
        return getattr(torch, name)
    if not name.startswith("_") and callable(getattr(torch.Tensor, name, None)):
        return functools.partial(_convert, name)
    raise AttributeError(f"module 'torch._refs._conversions' has no attribute '{name}'")
