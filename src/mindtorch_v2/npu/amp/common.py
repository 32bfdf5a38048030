"""Whether mixed precision is there."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """Whether there is no NPU."""
    return not torch.npu.is_available()
