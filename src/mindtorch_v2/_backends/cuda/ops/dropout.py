"""Dropout, by the numbers that PyTorch's kernels draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..pointwise import Pointwise, pointwise
from ..table import kernel
from .random import draw_bernoulli_neighbours

if TYPE_CHECKING:
    from ...._C import Generator
    from ...._tensor import Tensor

_SCALED = Pointwise("dropout", 1, ["self", "mask", "scale"], "bool(mask) ? self * scale : T(0)", raw=("mask",))


@kernel("native_dropout")
def native_dropout(input: Tensor, p: Any, train: bool, out: Tensor, mask: Tensor) -> None:
    if train is False:
        aten.copy_(out, input)
        aten.fill_(mask, True)
        return
    draw_bernoulli_neighbours(mask, 1.0 - p, None, input)
    _SCALED.launcher.run((out,), (input, mask, 0.0 if p == 1 else 1.0 / (1.0 - p)))


@kernel("_fused_dropout")
def fused_dropout(self: Tensor, keep: float, generator: Generator, out: Tensor, mask: Tensor) -> None:
    draw_bernoulli_neighbours(mask, float(keep), generator, self)
    _SCALED.launcher.run((out,), (self, mask, 0.0 if keep == 0 else 1.0 / keep))


pointwise("_masked_scale", "to<T>(mask) * self * scale", raw="mask")
pointwise("native_dropout_backward", "bool(mask) ? grad_output * scale : T(0)", raw="mask")
