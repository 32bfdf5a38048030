"""Parts of complex numbers of sparse tensors."""

from __future__ import annotations

from ..._operators.table import aten
from .parts import parts, with_values
from .table import CSR, kernel


@kernel("angle", CSR)
def _angle(self):
    return with_values(self, aten.angle(parts(self).values))
