"""How exact products of float32 matrices have to be: one setting, which programs know by three names."""

from __future__ import annotations

__all__ = ["PRECISIONS", "get", "may_be_shortened", "set"]

PRECISIONS = ("highest", "high", "medium")
"""The words of `torch.set_float32_matmul_precision`."""
_precision = ["highest"]


def get() -> str:
    """The word that was set last."""
    return _precision[0]


def set(precision: str) -> None:
    """Set one of PRECISIONS."""
    _precision[0] = precision


def may_be_shortened() -> bool:
    """Whether a GPU may take 10 bits behind the point of each factor (TF32)."""
    return _precision[0] != "highest"
