"""Discrete Fourier transforms: a stage for each factor of the size; a size with a large prime as a convolution of chirps (Bluestein)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_STAGE = Source("fft.cuh", "fft_stage")
_LARGEST = 64  # prime that has a stage
_REAL = {"complex64": "float32", "complex128": "float64"}
_COMPLEX = {real: name for name, real in _REAL.items()}


@functools.lru_cache(maxsize=256)
def _factors(n: int) -> tuple[int, ...]:
    """Factors of a size: eights, then primes."""
    found: list[int] = []
    for factor in (8, 4, 2):
        while n % factor == 0:
            found.append(factor)
            n //= factor
    factor = 3
    while factor * factor <= n:
        while n % factor == 0:
            found.append(factor)
            n //= factor
        factor += 2
    return (*found, *((n,) if n > 1 else ()))


def _rows(x: Tensor, sign: int) -> Tensor:
    """The transform of the last dimension of a contiguous tensor."""
    n = x.shape[-1]
    factors = _factors(n)
    if max(factors, default=1) > _LARGEST:
        return _by_chirps(x, sign)
    stride = 1
    for factor in factors:
        made = aten.empty_like(x)
        words = (("ELEMENT", element(x.dtype)), ("RADIX", str(factor)))
        arguments = pack(x.numel(), n, stride, float(sign), x, made)
        _STAGE.launch(x.device.index, words, (blocks(x.numel(), 256),), (256,), arguments)
        x, n, stride = made, n // factor, stride * factor
    return x


def _by_chirps(x: Tensor, sign: int) -> Tensor:
    """The same as a product of convolutions, whose size is a power of two: 2 j k is j^2 + k^2 - (j - k)^2."""
    n = x.shape[-1]
    long = 1 << (2 * n - 2).bit_length()
    places = aten.arange(n, dtype=DTYPES["int64"], device=x.device)
    angles = aten.remainder(places * places, 2 * n).to(DTYPES["float64"]) * (sign * math.pi / n)
    chirp = aten.complex(aten.cos(angles), aten.sin(angles)).to(x.dtype)
    back = chirp.conj()
    one = aten.zeros([long], dtype=x.dtype, device=x.device)
    one[:n].copy_(back)
    if n > 1:
        one[long - n + 1 :].copy_(back[1:].flip(0))
    held = aten.zeros([*x.shape[:-1], long], dtype=x.dtype, device=x.device)
    held[..., :n].copy_(x * chirp)
    both = _rows(held, 1) * _rows(one, 1)
    return (_rows(both.contiguous(), -1)[..., :n] * chirp / long).contiguous()


def _along(x: Tensor, dims: Sequence[int], sign: int) -> Tensor:
    for dim in dims:
        x = _rows(x.transpose(dim, -1).contiguous(), sign).transpose(dim, -1)
    return x


def _scaled(x: Tensor, normalization: int, points: int) -> Tensor:
    return x if not normalization else x * (1 / math.sqrt(points) if normalization == 1 else 1 / points)


@kernel("_fft_c2c")
def fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool, out: Tensor) -> None:
    points = math.prod(self.shape[d] for d in dim)
    out.copy_(_scaled(_along(self, dim, -1 if forward else 1), normalization, points))


@kernel("_fft_r2c")
def fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool, out: Tensor) -> None:
    last, points = dim[-1], math.prod(self.shape[d] for d in dim)
    x = _along(self.to(DTYPES[_COMPLEX[str(self.dtype).rpartition(".")[2]]]), [last], -1)
    x = x.narrow(last, 0, out.shape[last]) if onesided else x
    out.copy_(_scaled(_along(x, dim[:-1], -1), normalization, points))


@kernel("_fft_c2r")
def fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int, out: Tensor) -> None:
    last, points = dim[-1] % self.dim(), math.prod(out.shape[d] for d in dim)
    half = _along(self, dim[:-1], 1)
    x = aten.empty([*out.shape[:last], last_dim_size, *out.shape[last + 1 :]], dtype=self.dtype, device=self.device)
    x.narrow(last, 0, half.shape[last]).copy_(half)
    mirrored = (last_dim_size - 1) // 2
    if mirrored:
        x.narrow(last, half.shape[last], mirrored).copy_(half.narrow(last, 1, mirrored).flip(last).conj())
    for end in [0] if last_dim_size % 2 else [0, last_dim_size // 2]:  # they stand for themselves, and count as real
        aten.imag(x.narrow(last, end, 1)).zero_()
    out.copy_(_scaled(aten.real(_along(x, [last], 1)), normalization, points))
