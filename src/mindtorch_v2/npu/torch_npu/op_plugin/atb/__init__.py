"""The operators of the ATB library, which are registered from the start."""

from . import _atb_ops

__all__ = ["_atb_ops"]
