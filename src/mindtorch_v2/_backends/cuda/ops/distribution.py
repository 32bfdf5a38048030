"""Random numbers whose distribution differs by element.

The numbers are not PyTorch's for a seed: its kernels take those of cuRAND's own Poisson and gamma draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES, finfo
from ...._operators.table import aten
from ..pointwise import pointwise
from ..random import counted
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._C import Generator
    from ...._tensor import Tensor

_DRAW = Source("distribution.cuh", "draw_each")
_NUMBERS = 4096  # by which the generator moves on: more than a draw takes

pointwise("_standard_gamma_grad", "T(gamma_slope(double(self), double(output)))")
pointwise("_dirichlet_grad", "T(dirichlet_slope(double(x), double(alpha), double(total) - double(alpha)))")


def _draw(kind: str, out: Tensor, first: Tensor, second: Tensor | None, generator: Generator | None) -> None:
    if not out.numel():
        return
    index = out.device.index
    assert index is not None
    seed, offset, recorded_seed, recorded_offset = counted(generator, index, _NUMBERS)
    given = [None if t is None else aten.contiguous(t) for t in (first, second)]
    seed = seed - (1 << 64) if seed >> 63 else seed
    arguments = pack(out.numel(), seed, offset, recorded_seed, recorded_offset, out, *given)
    words = (("OUT", element(out.dtype)), ("KIND", kind))
    _DRAW.launch(index, words, (blocks(out.numel(), 128),), (128,), arguments)


@kernel("poisson", flags=CONTIGUOUS)
def poisson(self: Tensor, generator: Generator | None, out: Tensor) -> None:
    _draw("Poisson", out, self, None, generator)


@kernel("binomial", flags=CONTIGUOUS)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None, out: Tensor) -> None:
    _draw("Binomial", out, count.expand(out.shape), prob.expand(out.shape), generator)


@kernel("_standard_gamma", flags=CONTIGUOUS)
def standard_gamma(self: Tensor, generator: Generator | None, out: Tensor) -> None:
    _draw("Gamma", out, self, None, generator)
    out.clamp_(min=finfo(out.dtype).tiny)


@kernel("_sample_dirichlet", flags=CONTIGUOUS)
def sample_dirichlet(self: Tensor, generator: Generator | None, out: Tensor) -> None:
    wide = self.to(DTYPES["float64"])
    made = aten.empty_like(wide, memory_format=None).contiguous()
    _draw("Gamma", made, wide, None, generator)
    least, digits = finfo(out.dtype).tiny, 53 if out.dtype == DTYPES["float64"] else 24
    out.copy_((made / made.sum(-1, keepdim=True)).clamp(least, 1 - 2.0**-digits))
