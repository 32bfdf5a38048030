"""Sparse tensors with the pattern of a given one and drawn values."""

from __future__ import annotations

from ..._operators.table import aten
from .parts import parts, with_values
from .table import CSR, kernel


def _drawn_like(name: str) -> None:
    function = getattr(aten, name)

    @kernel(name, CSR)
    def run(self, *args, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None, **more):
        if layout not in (None, self.layout):
            raise NotImplementedError(
                f"{name}() of a tensor of the layout {self.layout} in another one is not implemented"
            )
        made = with_values(self, function(parts(self).values, *args, dtype=dtype, **more))
        return made if device is None else aten._to_copy(made, device=device)


for _name in ("rand_like", "randn_like"):
    _drawn_like(_name)
