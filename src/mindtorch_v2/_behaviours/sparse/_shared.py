"""Kernels that rows share: `keeps_zero` says that the values of a sparse tensor can be mapped alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ..._operators.table import ROWS, aten
from .parts import coalesced, parts, with_values
from .table import COO, CSR, become, check_layouts, fill, inplace, kernel, out

if TYPE_CHECKING:
    from ..._tensor import Tensor


_BOTH = (COO, CSR)


def _on_values(name: str) -> None:
    """Only the values change. PyTorch works on the sum of the values at equal coordinates."""
    function = getattr(aten, name)

    def run(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        self = coalesced(self) if self.layout == _C.sparse_coo else self
        return with_values(self, function(parts(self).values, *args, **kwargs))

    kernel(name, *_BOTH)(run)
    if ROWS[name].inplace is not None:
        inplace(name, *_BOTH)(lambda self, *args, **kwargs: become(self, run(self, *args, **kwargs)))
    if ROWS[name].out is not None:

        @out(name, *_BOTH)
        def into(self: Tensor, *args: Any, out: Tensor, **kwargs: Any) -> Any:
            check_layouts(self, out)
            return fill(out, run(self, *args, **kwargs))


for _row in ROWS.values():
    if _row.facts.keeps_zero:
        _on_values(_row.name)
