"""`torch._refs.linalg`: the functions of `torch.linalg`, see `torch._refs`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.load import LINALG

__all__ = sorted(LINALG)


def __getattr__(name: str) -> Any:
    return getattr(torch.linalg, name)
