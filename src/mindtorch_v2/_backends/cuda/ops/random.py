"""Random numbers, by PyTorch's own stream: a seed gives the numbers that its CUDA kernels draw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...._C import TensorBase
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common import random_forms
from ..random import draw, shuffle_alike
from ..table import kernel

if TYPE_CHECKING:
    from ...._C import Generator
    from ...._tensor import Tensor

_DIGITS = {"float32": 24, "float16": 11, "bfloat16": 8, "float64": 53, "bool": 1}


def _top(dtype: Any) -> int:
    """One more than the largest number that `random_` draws without limits."""
    name = str(dtype).rpartition(".")[2]
    digits = _DIGITS.get(name, dtype.itemsize * 8 - (not name.startswith("u")))
    return min(1 << digits, (1 << 63) - 1) + (name in ("float32", "float16", "bfloat16", "float64"))


def _normal(out: Tensor, mean: float, spread: float, generator: Generator | None) -> Tensor:
    if not out.is_complex():
        return draw("Normal", out, generator, (mean, spread))
    draw("Normal", aten.view_as_real(out), generator, (0.0, spread / 2**0.5))
    return out.add_(mean) if mean else out


def _uniform(out: Tensor, low: Any, high: Any, generator: Generator | None) -> Tensor:
    draw("Uniform", aten.view_as_real(out) if out.is_complex() else out, generator, (low, high))
    return out


def draw_bernoulli(out: Tensor, p: Any, generator: Generator | None = None) -> Tensor:
    """Draw ones with a probability: a number, or a tensor of them."""
    if not isinstance(p, TensorBase):
        return draw(
            "Bernoulli", out, generator, (float(p), 0.0), two=out.dtype.itemsize == 8 and out.dtype.is_floating_point
        )
    chance = aten.expand(p, out.shape).contiguous()
    return draw("BernoulliOf", out, generator, neighbours=4, chance=chance, threads=512, counts=10, two=False)


def draw_bernoulli_neighbours(mask: Tensor, keep: float, generator: Generator | None, of: Tensor) -> Tensor:
    """The mask of dropout: a thread draws for as many neighbours as PyTorch's loads of the tensor take."""
    together = 4
    while together > 1 and (mask.numel() % together or not of.is_contiguous()):
        together //= 2
    return draw("Bernoulli", mask, generator, (keep, 0.0), two=False, neighbours=together if together > 1 else 0)


def _integers(out: Tensor, low: int, high: int, generator: Generator | None) -> Tensor:
    span = high - low
    if span >= 1 << 28:
        return draw("Integer64", out, generator, range_=span % (1 << 64), base=low, two=True)
    return draw("Integer32", out, generator, range_=span, base=low, two=False)


@kernel("random_")
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    wide = self.dtype in (DTYPES["int64"], DTYPES["uint64"], DTYPES["float64"])
    kind = "Integer64" if wide else "Integer32"
    return draw(kind, self, generator, range_=_top(self.dtype), two=wide)


def _permute(out: Tensor, generator: Generator | None) -> None:
    if out.shape[0]:
        aten.copy_(out, _shuffled(out.shape[0], generator, out.device))


def _shuffled(n: int, generator: Generator | None, device: Any) -> Tensor:
    """A permutation by sorting random keys of so many bits that two alike are rare, as PyTorch counts them."""
    bits = min(64, math.ceil(math.log2(n - (6 * n * n + 1) / (math.log(0.9) * 12))))
    low, span = (-(1 << 31), (1 << 32) - 1) if bits <= 32 else (-(1 << 63), (1 << 64) - 1)
    keys = aten.empty([n], dtype=DTYPES["int32" if bits <= 32 else "int64"], device=device)
    keys = draw("Integer64", keys, generator, range_=span, base=low, two=True).to(DTYPES["int64"])
    if bits < 64:
        keys = aten.bitwise_and(keys, (1 << bits) - 1)
    keys, places = aten.sort(keys, stable=True)
    shuffle_alike(keys, places, generator)
    return places


def _one_number(kind: str) -> Any:
    return lambda out, parameter, generator: draw(kind, out, generator, (parameter, 0.0))


def _two_numbers(kind: str) -> Any:
    return lambda out, first, second, generator: draw(kind, out, generator, (first, second))


_exponential = _one_number("Exponential")
random_forms.register_floating(kernel, _normal, _uniform)
random_forms.register_bernoulli(kernel, draw_bernoulli)
random_forms.register_integers(kernel, _integers, _top)
random_forms.register_permutations(kernel, _permute)
random_forms.register_transformed(
    kernel, _exponential, _two_numbers("LogNormal"), _two_numbers("Cauchy"), _one_number("Geometric")
)


@kernel("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Generator | None, out: Tensor) -> None:
    if not replacement or num_samples == 1:  # the largest of p / exponential, as PyTorch has it
        races = _exponential(aten.empty(self.shape, dtype=self.dtype, device=self.device), 1.0, generator)
        chances = aten.div(self, races)
        found = chances.argmax(-1, keepdim=True) if num_samples == 1 else chances.topk(num_samples)[1]
        aten.copy_(out, found)
        return
    sums = aten.cumsum(self, -1)
    drawn = _uniform(aten.empty(out.shape, dtype=self.dtype, device=self.device), 0.0, 1.0, generator)
    aten.copy_(out, aten.searchsorted(sums, (drawn * sums[..., -1:]).contiguous()))
