"""`torch.quasirandom`: points that fill the unit cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections" (SIAM J. Sci. Comput. 30, 2008), up to dimension 21,201. `sobol_directions.bin` holds them, packed: for each
dimension but the first the inner coefficients of its primitive polynomial over GF(2), then its initial numbers m_2,
m_3, ... of which the k-th is odd and has k bits, so that k - 1 are stored. The polynomials' degrees ascend.
"""

from __future__ import annotations

from typing import Self

import functools
import math
from pathlib import Path

import mindtorch_v2 as torch

__all__ = ["SobolEngine"]


def _sequence_counts():
    """How many primitive polynomials over GF(2) there are of degree 1, 2, ..., 18: Euler's phi of 2**s - 1, over s."""
    for degree in range(1, 19):
        order = 2**degree - 1
        yield degree, sum(math.gcd(i, order) == 1 for i in range(1, order + 1)) // degree


@functools.cache
def _packed_directions():
    return Path(__file__).with_name("sobol_directions.bin").read_bytes()


def _records(count):
    """Degree and packed bits, as a whole number, of the first `count` dimensions after the first."""
    data, position = _packed_directions(), 0
    for degree, size in _sequence_counts():
        width = (degree - 1) + degree * (degree - 1) // 2
        for _ in range(min(size, count)):
            chunk = int.from_bytes(data[position // 8 : (position + width) // 8 + 1], "big")
            spare = 8 * len(data[position // 8 : (position + width) // 8 + 1]) - position % 8 - width
            yield degree, chunk >> spare & ((1 << width) - 1), width
            position += width
        count -= size
        if count <= 0:
            return


def _directions(degree, packed, width, bits) -> list:
    """The `bits` direction numbers of one dimension, the k-th scaled by 2**(bits - k)."""

    def take(n: int) -> int:
        nonlocal width
        width -= n
        return packed >> width & ((1 << n) - 1)

    inner = take(degree - 1)
    m = [2 * take(k) + 1 for k in range(degree)]
    for j in range(degree, bits):
        value = m[j - degree] ^ m[j - degree] << degree
        for k in range(1, degree):
            if inner >> (degree - 1 - k) & 1:
                value ^= m[j - k] << k
        m.append(value)
    return [value << bits - 1 - j for j, value in enumerate(m[:bits])]


def _gray(n):
    return n ^ n >> 1


class SobolEngine:
    """Points of a Sobol sequence in [0, 1)^`dimension`, in order; `dimension` is 1 to 21,201.

    With `scramble` the sequence is scrambled (Matousek, 1998) by random numbers of `seed`, or of the default generator.
    Up to 2**30 points differ.

    >>> import mindtorch_v2 as torch
    >>> torch.quasirandom.SobolEngine(2).draw(4)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500],
            [0.2500, 0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        rows = [[1 << self.MAXBIT - 1 - j for j in range(self.MAXBIT)]]
        rows += [_directions(degree, packed, width, self.MAXBIT) for degree, packed, width in _records(dimension - 1)]
        self.sobolstate = torch.tensor(rows, dtype=torch.int64, device="cpu")
        self.shift = torch.zeros(dimension, dtype=torch.int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        """A random shift, and a random lower triangle of bits with ones on its diagonal for each dimension."""
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        place = torch.arange(self.MAXBIT, device="cpu")
        shift = torch.randint(2, (self.dimension, self.MAXBIT), device="cpu", generator=generator)
        self.shift = (shift << place).sum(1)
        size = (self.dimension, self.MAXBIT, self.MAXBIT)
        triangle = torch.randint(2, size, device="cpu", generator=generator).tril()
        triangle.diagonal(dim1=1, dim2=2).fill_(1)
        place = place.flip(0)  # the first row of a triangle makes the highest bit
        bits = self.sobolstate.unsqueeze(1) >> place.view(-1, 1) & 1  # (dimension, bit, number)
        mixed = (triangle.float() @ bits.float()).long() & 1
        self.sobolstate = (mixed << place.view(-1, 1)).sum(1)

    def _advanced(self, counts) -> torch.Tensor:
        """The state after each of the `counts` (N,) of points: (N, dimension)."""
        start = max(self.num_generated - 1, 0)
        changed = _gray(start) ^ _gray(start + counts)
        state = self.quasi.expand(len(counts), -1).clone()
        for bit in range(int(start + counts.max()).bit_length() if len(counts) else 0):
            state ^= (changed >> bit & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return state

    def draw(self, n: int = 1, out: torch.Tensor | None = None, dtype: torch.dtype | None = None) -> torch.Tensor:
        """The next `n` points, (n, dimension), in `dtype` (the default dtype if None); `out` is resized and filled."""
        dtype = torch.get_default_dtype() if dtype is None else dtype
        first = self.num_generated == 0
        state = self._advanced(torch.arange(1, n if first else n + 1, device="cpu"))
        result = state.to(dtype) * 2.0**-self.MAXBIT
        if first:
            result = torch.cat((self._first_point.to(dtype), result), dim=-2)
        if len(state):
            self.quasi = state[-1].clone()
        self.num_generated += n
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: torch.Tensor | None = None, dtype: torch.dtype | None = None) -> torch.Tensor:
        """The next `2**m` points; ValueError unless the number of all points then is a power of 2."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require "
                f"n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> Self:
        """Back to the first point."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> Self:
        """Skip `n` points."""
        steps = n - 1 if self.num_generated == 0 else n
        self.quasi = self._advanced(torch.tensor([steps], device="cpu"))[0]
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        parts += ["scramble=True"] * bool(self.scramble)
        parts += [f"seed={self.seed}"] * (self.seed is not None)
        return f"{type(self).__name__}({', '.join(parts)})"
