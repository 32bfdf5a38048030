"""Distances between rows, and the gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_FORWARD, _BACKWARD = Source("distance.cuh", "distance"), Source("distance.cuh", "distance_gradient")


def _launch(
    source: Source, x: Tensor, y: Tensor, p: float, out: Tensor, threads: int, pairs: bool, *given: Tensor
) -> None:
    """One launch of `threads`; x and y have the same batches, `given` are the gradient and the distances."""
    if not out.numel():
        return
    order = 4 if p == math.inf else int(p) if p in (0, 1, 2) else 3
    words = (("ELEMENT", element(out.dtype)), ("PAIRS", str(int(pairs))), ("ORDER", str(order)))
    rows, columns, n = x.shape[-2], y.shape[-2], x.shape[-1]
    grad, dist = (aten.contiguous(t) for t in given) if given else (None, None)
    arguments = pack(math.prod(x.shape[:-2]), rows, columns, n, x, y, grad, dist, out, float(p))
    source.launch(out.device.index, words, (blocks(threads, 256),), (256,), arguments)


def _batches(x: Tensor, y: Tensor, batch: list[int]) -> list[Tensor]:
    """Both with the batches that they have together, row-major."""
    return [aten.contiguous(aten.expand(t, [*batch, *t.shape[-2:]])) for t in (x, y)]


@kernel("_cdist_forward", flags=CONTIGUOUS)
def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None, out: Tensor) -> None:
    x, y = _batches(x1, x2, list(out.shape[:-2]))
    _launch(_FORWARD, x, y, p, out, out.numel(), False)


@kernel("_cdist_backward", flags=CONTIGUOUS)
def cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor, out: Tensor) -> None:
    x, y = _batches(x1, x2, list(out.shape[:-2]))
    _launch(_BACKWARD, x, y, p, out, out.numel(), False, grad, cdist)


@kernel("_pdist_forward", flags=CONTIGUOUS)
def pdist(self: Tensor, p: float, out: Tensor) -> None:
    x = aten.contiguous(self)
    _launch(_FORWARD, x, x, p, out, x.shape[0] ** 2, True)


@kernel("_pdist_backward", flags=CONTIGUOUS)
def pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor, out: Tensor) -> None:
    x = aten.contiguous(self)
    _launch(_BACKWARD, x, x, p, out, out.numel(), True, grad, pdist)
