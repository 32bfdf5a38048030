"""Complex numbers of their parts: what has no kernel for real ones beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..complex_numbers import complex_pair, conj, polar
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


kernel("complex")(complex_pair)
kernel("polar")(polar)


@kernel("_conj_physical", alias=True)
def conj_physical(self: Tensor, out: Tensor) -> None:
    if self.is_complex():
        conj(self, out)
    else:
        aten.copy_(out, self)


@kernel("angle")
def angle(self: Tensor, out: Tensor) -> None:
    turned = aten.where(self < 0, 3.141592653589793, 0.0)
    aten.copy_(out, aten.where(aten.isnan(self), self, turned.to(out.dtype)))
