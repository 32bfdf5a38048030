"""Discrete Fourier transforms, as products with matrices of roots of unity: sizes that are products are done factor by factor.

Real and imaginary parts are computed apart (complex_numbers.py), and the results' parts are written where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import call, kernel

_DIRECT = 64  # the largest size that one product does though it has factors
_KEEP = 0  # cubeMathType: no shorter format, whose ten bits would be all that is left of a spectrum
_NONE, _BY_ROOT, _BY_SIZE = range(3)


@lru_cache(maxsize=64)
def _roots(rows: int, columns: int, size: int, dtype: Any, device: Any) -> tuple[Any, Any]:
    """cos and sin of 2 pi (row * column) / size."""
    turns = (aten.arange(rows).unsqueeze(1) * aten.arange(columns)).remainder(size)
    angles = turns.to(DTYPES["float64"]) * (2 * math.pi / size)
    return aten.cos(angles).to(device=device, dtype=dtype), aten.sin(angles).to(device=device, dtype=dtype)


def _factor(size: int) -> int:
    """The largest divisor that one product does; 1 for a prime."""
    return next((a for a in range(min(_DIRECT, size // 2), 1, -1) if size % a == 0), 1)


def _times(x: Any, matrix: Any) -> Any:
    made = aten.new_empty(x, [*x.shape[:-1], matrix.shape[1]])
    call("aclnnMatmul", x, matrix, made, _KEEP)
    return made


def _turned(re: Any, im: Any, cos: Any, sin: Any, sign: int, product: Any) -> tuple[Any, Any]:
    """(re + i im) by (cos + sign i sin); no `im` is zeros."""
    if im is None:
        return product(re, cos), product(re, sin) * sign
    return product(re, cos) - product(im, sin) * sign, product(im, cos) + product(re, sin) * sign


def _transform(re: Any, im: Any, sign: int) -> tuple[Any, Any]:
    """The transform of the last dimension."""
    size = re.shape[-1]
    a = _factor(size) if size > _DIRECT else 1
    if a == 1:
        cos, sin = _roots(size, size, size, re.dtype, re.device)
        return _turned(re, im, cos, sin, sign, _times)
    b = size // a  # element j b + i, result k + a l: first over j, then over i

    def columns(part: Any) -> Any:
        return None if part is None else part.reshape(*part.shape[:-1], a, b).transpose(-1, -2)

    cos, sin = _roots(a, a, a, re.dtype, re.device)
    re, im = _turned(columns(re), columns(im), cos, sin, sign, _times)
    cos, sin = _roots(a, b, size, re.dtype, re.device)
    re, im = _turned(re.transpose(-1, -2), im.transpose(-1, -2), cos, sin, sign, lambda x, y: x * y)
    re, im = _transform(re.contiguous(), im.contiguous(), sign)
    return re.transpose(-1, -2).reshape(*re.shape[:-2], size), im.transpose(-1, -2).reshape(*im.shape[:-2], size)


def _along(re: Any, im: Any, dim: int, sign: int) -> tuple[Any, Any]:
    """The transform of one dimension."""
    im = None if im is None else im.movedim(dim, -1).contiguous()
    re, im = _transform(re.movedim(dim, -1).contiguous(), im, sign)
    return re.movedim(-1, dim), im.movedim(-1, dim)


def _parts(x: Any) -> tuple[Any, Any]:
    pairs = aten.view_as_real(x)
    return pairs.select(-1, 0), pairs.select(-1, 1)


def _scale(normalization: int, sizes: Sequence[int]) -> float:
    points = math.prod(sizes)
    return {_NONE: 1.0, _BY_ROOT: 1 / math.sqrt(points), _BY_SIZE: 1 / points}[normalization]


def _written(re: Any, im: Any, scale: float, out: Any) -> None:
    for target, part in zip(_parts(out), (re, im), strict=True):
        call("aclnnInplaceCopy", target, part if scale == 1 else part * scale)


@kernel("_fft_c2c")
def fft_c2c(self: Any, dim: Sequence[int], normalization: int, forward: bool, out: Any) -> None:
    re, im = _parts(self)
    for each in dim:
        re, im = _along(re, im, each, -1 if forward else 1)
    _written(re, im, _scale(normalization, [self.shape[each] for each in dim]), out)


@kernel("_fft_r2c")
def fft_r2c(self: Any, dim: Sequence[int], normalization: int, onesided: bool, out: Any) -> None:
    *others, last = dim
    re, im = _along(self, None, last, -1)
    if onesided:
        half = self.shape[last] // 2 + 1
        re, im = re.narrow(last, 0, half), im.narrow(last, 0, half)
    for each in others:
        re, im = _along(re, im, each, -1)
    _written(re, im, _scale(normalization, [self.shape[each] for each in dim]), out)


@kernel("_fft_c2r")
def fft_c2r(self: Any, dim: Sequence[int], normalization: int, last_dim_size: int, out: Any) -> None:
    *others, last = dim
    re, im = _parts(self)
    for each in others:
        re, im = _along(re, im, each, 1)
    given, wanted = last_dim_size // 2 + 1, (last_dim_size - 1) // 2
    re, im = re.narrow(last, 0, given), im.narrow(last, 0, given)
    if wanted:  # the other half is the mirror image, conjugate
        re, im = (
            aten.cat([part, aten.flip(part.narrow(last, 1, wanted), [last]) * sign], last)
            for part, sign in ((re, 1), (im, -1))
        )
    re, _ = _along(re, im, last, 1)
    scale = _scale(normalization, [*(self.shape[each] for each in others), last_dim_size])
    call("aclnnInplaceCopy", out, re if scale == 1 else re * scale)
