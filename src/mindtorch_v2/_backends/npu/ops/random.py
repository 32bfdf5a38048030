"""Random numbers: the device's own stream of (seed, offset)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...._C import TensorBase
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common import random_forms
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


def _normal(out: Tensor, mean: float, spread: float, generator: Generator | None) -> Tensor:
    if out.is_complex():  # half of the variance is each part's
        _normal(aten.view_as_real(out), 0.0, spread / math.sqrt(2), generator)
        return out.add_(mean) if mean else out
    return _drawn(out, "aclnnInplaceNormal", mean, spread, generator=generator)


def _uniform(out: Tensor, low: Any, high: Any, generator: Generator | None) -> Tensor:
    return _drawn(out, "aclnnInplaceUniform", low, high, generator=generator)


def _integers(out: Tensor, low: Any, high: Any, generator: Generator | None) -> Tensor:
    return _drawn(out, "aclnnInplaceRandom", low, high, generator=generator)


def _top(dtype: Any) -> int:
    name = str(dtype).removeprefix("torch.")
    top = _LARGEST[name] if name in _LARGEST else 1 << (dtype.itemsize * 8 - (0 if name.startswith("u") else 1))
    return min(top, (1 << 63) - 1)


@kernel("random_")
def random_(self: Tensor, *, generator: Generator | None = None) -> Tensor:
    return _integers(self, 0, _top(self.dtype), generator)


def _permute(out: Tensor, generator: Generator | None) -> None:
    if is_capturing():
        raise NotImplementedError("randperm cannot be captured in an NPUGraph: aclnnRandperm has no form for it")
    index: Any = out.device.index
    call_random("aclnnRandperm", (out.shape[0],), generator, index, (out,))


def _exponential(out: Tensor, lambd: float, generator: Generator | None) -> Tensor:
    _uniform(out, 0.0, 1.0, generator)
    return aten.copy_(out, aten.log1p(-out) / -lambd)


def _log_normal(out: Tensor, mean: float, spread: float, generator: Generator | None) -> Tensor:
    return aten.exp_(_normal(out, mean, spread, generator))


def _cauchy(out: Tensor, median: float, sigma: float, generator: Generator | None) -> Tensor:
    _uniform(out, 0.0, 1.0, generator)
    return aten.copy_(out, aten.tan((out - 0.5) * math.pi) * sigma + median)


def _geometric(out: Tensor, p: Any, generator: Generator | None) -> Tensor:
    numbers = out if out.dtype.is_floating_point else aten.empty_like(out, dtype=DTYPES["float32"])
    _uniform(numbers, 0.0, 1.0, generator)
    return aten.copy_(out, aten.ceil(aten.log1p(-numbers) / math.log1p(-p)).clamp(min=1))


random_forms.register_floating(kernel, _normal, _uniform)
random_forms.register_bernoulli(kernel, draw_bernoulli)
random_forms.register_integers(kernel, _integers, _top)
random_forms.register_permutations(kernel, _permute)
random_forms.register_transformed(kernel, _exponential, _log_normal, _cauchy, _geometric)


@kernel("multinomial")
def multinomial(self: Tensor, num_samples: int, replacement: bool, generator: Generator | None, out: Tensor) -> None:
    index: Any = self.device.index
    call_random("aclnnMultinomial", (self, num_samples, replacement), generator, index, (out,))
