"""Random numbers, by PyTorch's own stream: a seed gives the numbers that its CUDA kernels draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._C import TensorBase
from ...._core.dtype import DTYPES
from ...._operators.table import aten
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


@kernel("normal_")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if self.is_complex():
        root = std / 2**0.5
        parts = aten.view_as_real(self)
        draw("Normal", parts, generator, (0.0, root))
        return self.add_(mean) if mean else self
    return draw("Normal", self, generator, (mean, std))


@kernel("uniform_")
def uniform_(self: Tensor, low: Any = 0.0, high: Any = 1.0, *, generator: Generator | None = None) -> Tensor:
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    parts = aten.view_as_real(self) if self.is_complex() else self
    draw("Uniform", parts, generator, (low, high))
    return self


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


@kernel("bernoulli_.float")
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return draw_bernoulli(self, float(p), generator)


@kernel("bernoulli_.Tensor")
def bernoulli_tensor_(self: Tensor, p: Any, *, generator: Generator | None = None) -> Tensor:
    return draw_bernoulli(self, p.to(self.device), generator)


@kernel("bernoulli")
def bernoulli(self: Tensor, generator: Generator | None, out: Tensor) -> None:
    draw_bernoulli(out, self, generator)


@kernel("bernoulli.p")
def bernoulli_p(self: Tensor, p: Any, generator: Generator | None, out: Tensor) -> None:
    draw_bernoulli(out, float(p), generator)


def _whole(out: Tensor, low: int, high: int, generator: Generator | None) -> Tensor:
    span = high - low
    if span >= 1 << 28:
        return draw("Integer64", out, generator, range_=span % (1 << 64), base=low, two=True)
    return draw("Integer32", out, generator, range_=span, base=low, two=False)


@kernel("random_")
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    wide = self.dtype in (DTYPES["int64"], DTYPES["uint64"], DTYPES["float64"])
    kind = "Integer64" if wide else "Integer32"
    return draw(kind, self, generator, range_=_top(self.dtype), two=wide)


def _check_range(low: int, high: int) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")


@kernel("random_.from")
def random_from_(self: Tensor, low: Any, high: Any, *, generator: Generator | None = None) -> Tensor:
    high = _top(self.dtype) if high is None else high
    _check_range(low, high)
    return _whole(self, low, high, generator)


@kernel("random_.to")
def random_to_(self: Tensor, high: Any, *, generator: Generator | None = None) -> Tensor:
    _check_range(0, high)
    return _whole(self, 0, high, generator)


@kernel("normal.float_float")
def normal(mean: float, std: float, size: Sequence[int], generator: Generator | None, *rest: Any) -> None:
    normal_(rest[-1], mean, std, generator=generator)


@kernel("rand", "rand_like")
def rand(shape: Any, *rest: Any) -> None:
    uniform_(rest[-1])


@kernel("rand.generator", "rand_like.generator")
def rand_generator(shape: Any, generator: Generator | None, *rest: Any) -> None:
    uniform_(rest[-1], generator=generator)


@kernel("randn", "randn_like")
def randn(shape: Any, *rest: Any) -> None:
    normal_(rest[-1])


@kernel("randn.generator", "randn_like.generator")
def randn_generator(shape: Any, generator: Generator | None, *rest: Any) -> None:
    normal_(rest[-1], generator=generator)


@kernel("randint")
def randint(high: Any, size: Sequence[int], *rest: Any) -> None:
    random_from_(rest[-1], 0, high)


@kernel("randint.generator")
def randint_generator(high: Any, size: Sequence[int], generator: Generator | None, *rest: Any) -> None:
    random_from_(rest[-1], 0, high, generator=generator)


@kernel("randint.low")
def randint_low(low: Any, high: Any, size: Sequence[int], *rest: Any) -> None:
    random_from_(rest[-1], low, high)


@kernel("randint.low_generator")
def randint_low_generator(low: Any, high: Any, size: Sequence[int], generator: Generator | None, *rest: Any) -> None:
    random_from_(rest[-1], low, high, generator=generator)


@kernel("randint_like")
def randint_like(self: Tensor, high: Any, *rest: Any) -> None:
    random_from_(rest[-1], 0, high)


@kernel("randint_like.low_dtype")
def randint_like_low(self: Tensor, low: Any, high: Any, *rest: Any) -> None:
    random_from_(rest[-1], low, high)


@kernel("randint_like.generator")
def randint_like_generator(self: Tensor, high: Any, generator: Generator | None, *rest: Any) -> None:
    random_from_(rest[-1], 0, high, generator=generator)


@kernel("randint_like.low_generator_dtype")
def randint_like_low_generator(self: Tensor, low: Any, high: Any, generator: Generator | None, *rest: Any) -> None:
    random_from_(rest[-1], low, high, generator=generator)


@kernel("randint_like.Tensor")
def randint_like_tensor(self: Tensor, high: Tensor, *rest: Any) -> None:
    random_from_(rest[-1], 0, int(high))


@kernel("randint_like.Tensor_generator")
def randint_like_tensor_generator(self: Tensor, high: Tensor, generator: Generator | None, *rest: Any) -> None:
    random_from_(rest[-1], 0, int(high), generator=generator)


@kernel("randperm.generator")
def randperm_generator(n: int, generator: Generator | None, *rest: Any) -> None:
    out = rest[-1]
    if n:
        aten.copy_(out, _shuffled(n, generator, out.device))


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


@kernel("randperm")
def randperm(n: int, *rest: Any) -> None:
    randperm_generator(n, None, *rest)


def _positive(what: str, value: float, name: str) -> None:
    if value <= 0:
        raise RuntimeError(f"{what} > 0.0, but found {name}={value}")


@kernel("exponential_")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    _positive("exponential_ expects lambda", lambd, "lambda")
    return draw("Exponential", self, generator, (lambd, 0.0))


@kernel("log_normal_")
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    _positive("log_normal_ expects std", std, "std")
    return draw("LogNormal", self, generator, (mean, std))


@kernel("cauchy_")
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    _positive("cauchy_ expects sigma", sigma, "sigma")
    return draw("Cauchy", self, generator, (median, sigma))


@kernel("geometric_")
def geometric_(self: Tensor, p: Any, *, generator: Generator | None = None) -> Tensor:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return draw("Geometric", self, generator, (p, 0.0))


@kernel("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Generator | None, out: Tensor) -> None:
    if not replacement or num_samples == 1:  # the largest of p / exponential, as PyTorch has it
        races = exponential_(aten.empty(self.shape, dtype=self.dtype, device=self.device), generator=generator)
        chances = aten.div(self, races)
        found = chances.argmax(-1, keepdim=True) if num_samples == 1 else chances.topk(num_samples)[1]
        aten.copy_(out, found)
        return
    sums = aten.cumsum(self, -1)
    levels = uniform_(aten.empty(out.shape, dtype=self.dtype, device=self.device), generator=generator) * sums[..., -1:]
    aten.copy_(out, aten.searchsorted(sums, levels.contiguous()))
