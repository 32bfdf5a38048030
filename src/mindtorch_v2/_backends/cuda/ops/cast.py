"""Single numbers; copies and casts are `copies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("_local_scalar_dense")
def local_scalar_dense(self: Tensor) -> Any:
    return aten._local_scalar_dense(self.cpu())
