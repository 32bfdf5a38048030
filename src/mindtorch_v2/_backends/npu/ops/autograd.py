"""Numbers that leave the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("_local_scalar_dense")
def local_scalar(self: Tensor) -> float:
    return self.detach().to("cpu").item()
