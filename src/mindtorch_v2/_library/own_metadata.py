"""Bits that files keep of tensors of a program's own device beside their bytes: `backend_meta.h` comes here."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._core.storage import PROGRAMS_OWN, orders
from mindtorch_v2._ops import ops

__all__ = ["register"]


def register(answering: str) -> None:
    """Let the operator of that name say and restore named bits of tensors of PrivateUse1."""
    ask: Any = getattr(ops._own_metadata, answering)
    orders[PROGRAMS_OWN] = (lambda tensor: ask(tensor, None) or {}), (lambda tensor, bits: ask(tensor, bits))
