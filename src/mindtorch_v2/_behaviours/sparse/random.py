"""Sparse tensors with the pattern of a given one and drawn values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._operators.table import aten
from .parts import parts, with_values
from .table import CSR, kernel

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _drawn_like(name: str) -> None:
    function = getattr(aten, name)

    @kernel(name, CSR)
    def run(
        self: Tensor,
        *args: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: Any = None,
        memory_format: Any = None,
        **more: Any,
    ) -> Tensor:
        if layout not in (None, self.layout):
            raise NotImplementedError(
                f"{name}() of a tensor of the layout {self.layout} in another one is not implemented"
            )
        made = with_values(self, function(parts(self).values, *args, dtype=dtype, **more))
        return made if device is None else aten._to_copy(made, device=device)


for _name in ("rand_like", "randn_like"):
    _drawn_like(_name)
