"""Padding: with a constant, by reflection, by repeating the edge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..copies import copy, fill
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_PAD, _GRADIENT = Source("pad.cuh", "pad"), Source("pad.cuh", "pad_gradient")


@kernel("constant_pad_nd")
def constant(self: Tensor, pad: Sequence[int], value: Any, out: Tensor) -> None:
    if not out.numel():
        return
    fill(out, value)
    source, target = self, out
    for i in range(len(pad) // 2):
        d, before, after = self.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]
        length = self.shape[d] + min(before, 0) + min(after, 0)
        source = aten.narrow(source, d, max(-before, 0), length)
        target = aten.narrow(target, d, max(before, 0), length)
    if target.numel():
        copy(target, source)


def _launch(source: Source, reflect: bool, inner: Tensor, outer: Tensor, pad: Sequence[int], out: Tensor) -> None:
    """`inner` is the tensor that is padded, or its gradient; both are contiguous."""
    dims = len(pad) // 2
    n = out.numel()
    if not n:
        return
    sizes = [1] * (3 - dims) + list(inner.shape[inner.dim() - dims :])
    before = [0] * (3 - dims) + [pad[2 * i] for i in reversed(range(dims))]
    wide = [1] * (3 - dims) + list(outer.shape[outer.dim() - dims :])
    words = (("ELEMENT", element(out.dtype)), ("REFLECT", str(int(reflect))))
    planes = math.prod(inner.shape[: inner.dim() - dims])
    arguments = pack(planes, inner, outer, sizes, wide, before)
    source.launch(out.device.index, words, (blocks(n, 256),), (256,), arguments)


def _edge(kind: str, dims: int) -> None:
    reflect = kind == "reflection"

    @kernel(f"{kind}_pad{dims}d", flags=CONTIGUOUS)
    def pad(self: Tensor, padding: Sequence[int], out: Tensor) -> None:
        _launch(_PAD, reflect, self.contiguous(), out, padding, out)

    @kernel(f"{kind}_pad{dims}d_backward", flags=CONTIGUOUS)
    def backward(grad_output: Tensor, self: Tensor, padding: Sequence[int], out: Tensor) -> None:
        _launch(_GRADIENT, reflect, out, grad_output.contiguous(), padding, out)


for _dims in (1, 2, 3):
    _edge("reflection", _dims)
    _edge("replication", _dims)
