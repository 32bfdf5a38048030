"""Whether kernels of Helion can be made for PyTorch's compiler: no."""

from __future__ import annotations

__all__ = ["has_helion"]


def has_helion() -> bool:
    """False: nothing here compiles to it."""
    return False
