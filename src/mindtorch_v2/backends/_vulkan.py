"""Vulkan, which is absent."""

from __future__ import annotations

__all__ = ["is_vulkan_available"]


def is_vulkan_available() -> bool:
    """Whether tensors can be on Vulkan devices: False.

    >>> torch.is_vulkan_available()
    False
    """
    return False
