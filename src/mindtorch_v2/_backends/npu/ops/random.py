"""Random numbers: the device's own stream of (seed, offset)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._C import TensorBase
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import call, call_random, is_capturing, kernel

if TYPE_CHECKING:
    from ...._C import Generator
    from ...._tensor import Tensor


_LARGEST = {"float32": 1 << 24, "float16": 1 << 11, "bfloat16": 1 << 8, "float64": 1 << 53, "bool": 2}


def _drawn(tensor, symbol, *arguments, generator=None):
    if tensor.numel():
        call_random(symbol, (tensor, *arguments), generator, tensor.device.index)
    return tensor


def draw_bernoulli(out: Tensor, p: Any, generator: Generator | None = None) -> Tensor:
    """Draw ones with a probability: a number, or a tensor of them. No form of the operators can be captured: uniform ones can."""
    many = isinstance(p, TensorBase)
    if not is_capturing():
        return _drawn(out, f"aclnnInplaceBernoulli{'Tensor' if many else ''}", p, generator=generator)
    if out.numel():
        uniform = _drawn(aten.empty(out.shape, device=out.device), "aclnnInplaceUniform", 0.0, 1.0, generator=generator)
        call("aclnnInplaceCopy", out, uniform < p)
    return out


@kernel("normal_")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return _drawn(self, "aclnnInplaceNormal", mean, std, generator=generator)


@kernel("uniform_")
def uniform_(self: Tensor, low: Any = 0.0, high: Any = 1.0, *, generator: Generator | None = None) -> Tensor:
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    return _drawn(self, "aclnnInplaceUniform", low, high, generator=generator)


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


def _top(dtype):
    name = str(dtype).removeprefix("torch.")
    return _LARGEST[name] if name in _LARGEST else 1 << (dtype.itemsize * 8 - (0 if name.startswith("u") else 1))


@kernel("random_")
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    return _drawn(self, "aclnnInplaceRandom", 0, min(_top(self.dtype), (1 << 63) - 1), generator=generator)


def _check_range(low, high) -> None:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")


@kernel("random_.from")
def random_from_(self: Tensor, low: Any, high: Any, *, generator: Generator | None = None) -> Tensor:
    high = min(_top(self.dtype), (1 << 63) - 1) if high is None else high
    _check_range(low, high)
    return _drawn(self, "aclnnInplaceRandom", low, high, generator=generator)


@kernel("random_.to")
def random_to_(self: Tensor, high: Any, *, generator: Generator | None = None) -> Tensor:
    _check_range(0, high)
    return _drawn(self, "aclnnInplaceRandom", 0, high, generator=generator)


@kernel("normal.float_float")
def normal(mean: float, std: float, size: Sequence[int], generator: Generator | None, *rest: Any) -> None:
    normal_(rest[-1], mean, std, generator=generator)


@kernel("rand", "rand_like")
def rand(shape: Sequence[int] | Tensor, *rest: Any) -> None:
    _drawn(rest[-1], "aclnnInplaceUniform", 0.0, 1.0)


@kernel("rand.generator", "rand_like.generator")
def rand_generator(shape: Sequence[int] | Tensor, generator: Generator | None, *rest: Any) -> None:
    _drawn(rest[-1], "aclnnInplaceUniform", 0.0, 1.0, generator=generator)


@kernel("randn", "randn_like")
def randn(shape: Sequence[int] | Tensor, *rest: Any) -> None:
    _drawn(rest[-1], "aclnnInplaceNormal", 0.0, 1.0)


@kernel("randn.generator", "randn_like.generator")
def randn_generator(shape: Sequence[int] | Tensor, generator: Generator | None, *rest: Any) -> None:
    _drawn(rest[-1], "aclnnInplaceNormal", 0.0, 1.0, generator=generator)


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


@kernel("randperm.generator")
def randperm_generator(n: int, generator: Generator | None, *rest: Any) -> None:
    if is_capturing():
        raise NotImplementedError("randperm cannot be captured in an NPUGraph: aclnnRandperm has no form for it")
    call_random("aclnnRandperm", (n,), generator, rest[-1].device.index, (rest[-1],))


@kernel("randperm")
def randperm(n: int, *rest: Any) -> None:
    randperm_generator(n, None, *rest)


@kernel("exponential_")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    uniform_(self, generator=generator)
    return aten.copy_(self, aten.log1p(-self) / -lambd)


@kernel("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Generator | None, out: Tensor) -> None:
    index: Any = self.device.index
    call_random("aclnnMultinomial", (self, num_samples, replacement), generator, index, (out,))


@kernel("log_normal_")
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return aten.exp_(normal_(self, mean, std, generator=generator))


@kernel("cauchy_")
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    uniform_(self, generator=generator)
    return aten.copy_(self, aten.tan((self - 0.5) * math.pi) * sigma + median)


@kernel("geometric_")
def geometric_(self: Tensor, p: Any, *, generator: Generator | None = None) -> Tensor:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    numbers = self if self.dtype.is_floating_point else aten.empty_like(self, dtype=DTYPES["float32"])
    uniform_(numbers, generator=generator)
    return aten.copy_(self, aten.ceil(aten.log1p(-numbers) / math.log1p(-p)).clamp(min=1))
