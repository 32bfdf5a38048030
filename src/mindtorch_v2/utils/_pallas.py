"""Whether kernels of Pallas can be made for PyTorch's compiler: no."""

from __future__ import annotations

__all__ = ["has_pallas_package", "has_tpu_pallas"]


def has_pallas_package() -> bool:
    """False: nothing here compiles to it."""
    return False


def has_tpu_pallas() -> bool:
    """False: nothing here compiles to it."""
    return False
