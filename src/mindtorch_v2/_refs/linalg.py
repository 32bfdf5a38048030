"""`torch._refs.linalg`: the functions of `torch.linalg`, see `torch._refs`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ("diagonal matrix_norm norm svd svdvals vector_norm vecdot cross ").split()


def __getattr__(name: str) -> Any:
    return getattr(torch.linalg, name)
