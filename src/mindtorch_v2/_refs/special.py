"""`torch._refs.special`: the functions of `torch.special`, see `torch._refs`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._operators.load import SPECIAL

__all__ = sorted(SPECIAL)


def __getattr__(name: str) -> Any:
    return getattr(torch.special, name)
