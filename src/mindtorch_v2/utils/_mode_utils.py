"""Modes: switched off for a while, and alike."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._core.torch_dispatch import DisableTorchDispatch

__all__ = ["all_same_mode", "no_dispatch"]

no_dispatch = DisableTorchDispatch


def all_same_mode(modes: Any) -> bool:
    """Whether they are all one mode."""
    return all(mode is modes[0] for mode in modes)
