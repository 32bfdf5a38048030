"""What exported programs are asked about; most of PyTorch's names are here to be imported only."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.unavailable import unavailable_names

_NAMES = unavailable_names(
    "torch._export.utils", "get_buffer get_param is_buffer is_param register_dataclass_as_pytree_node"
)
globals().update(_NAMES)


def _is_cia_op(op: Any) -> bool:
    """Whether an overload is a composition that autograd sees through (CompositeImplicitAutograd)."""
    return bool(_C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd"))
