"""Questions about operators of exported programs."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C

__all__: list[str] = []


def _is_cia_op(op: Any) -> bool:
    """Whether an overload is a composition that autograd sees through (CompositeImplicitAutograd)."""
    return bool(_C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd"))
