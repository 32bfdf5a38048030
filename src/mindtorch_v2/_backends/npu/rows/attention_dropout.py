"""Dropout of Ascend's attention: which probabilities survive, by a mask of the caller's or drawn from a seed and an offset.

On a CPU they are drawn again for each block of scores, forward and backward, so that they are never held as a whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import call as npu_call

_RUN = 1 << 14  # numbers that one state of the CPU's generator draws: any of them is found by drawing fewer than these


class Kept(NamedTuple):
    """Which probabilities of one sequence survive: booleans of (batch, heads, queries, keys), made a block of rows at a time."""

    device: Any
    seed: Any
    offset: Any
    keep: float
    whole: Any  # of all sequences one after the other; None where they are drawn block by block
    bits: Any  # the caller's mask, eight to a byte; None without one
    start: int = 0  # the number of the sequence's first score among those of the call
    sizes: tuple = ()

    @staticmethod
    def of(device: Any, count: Any, seed: Any, offset: Any, keep: float, dropout_mask: Any) -> Kept:
        """Make those of so many probabilities."""
        drawn = dropout_mask is None and not _in_runs(device, count)
        whole = uniform(device, [count], seed, offset) < keep if drawn else None
        return Kept(device, seed, offset, keep, whole, None if dropout_mask is None else dropout_mask.flatten())

    def rows(self, first: int, last: int, of: tuple[int, int]) -> Any:
        """Those of queries `first` to `last` for a range of keys."""
        batch, heads, queries, keys = self.sizes
        if self.whole is not None:
            own = self.whole[self.start : self.start + batch * heads * queries * keys]
            return own.reshape(list(self.sizes))[:, :, first:last, slice(*of)]
        if self.bits is not None:
            to = {"device": self.bits.device}
            head = aten.arange(batch * heads, **to).reshape([batch, heads, 1, 1]) * queries
            places = (head + aten.arange(first, last, **to).unsqueeze(-1)) * keys + aten.arange(*of, **to) + self.start
            return ((self.bits[places // 8].to(DTYPES["int64"]) >> (places % 8)) & 1).to(DTYPES["bool"])
        found = aten.empty([batch * heads, (last - first) * keys], dtype=DTYPES["bool"], device=self.device)
        for i in range(batch * heads):
            begin = self.start + (i * queries + first) * keys
            _fill(found[i], begin, self.seed, self.offset, self.keep)
        return found.reshape([batch, heads, last - first, keys])[..., slice(*of)]


def _in_runs(device: Any, count: Any) -> bool:
    """Whether numbers of a device can be drawn from any place on."""
    return device.type == "cpu" and type(count) is int


def uniform(device: Any, shape: Any, seed: Any, offset: Any) -> Any:
    """Numbers from 0 to 1 that follow from a seed and an offset, which may be tensors of the device."""
    if device.type == "npu":
        drawn = aten.empty(shape, dtype=DTYPES["float32"], device=device)
        if drawn.numel() and isinstance(seed, _C.TensorBase):
            npu_call("aclnnInplaceUniformTensor", drawn, 0.0, 1.0, seed, offset, 0)
        elif drawn.numel():
            npu_call("aclnnInplaceUniform", drawn, 0.0, 1.0, seed, offset)
        return drawn
    if device.type == "meta":
        return aten.empty(shape, dtype=DTYPES["float32"], device=device)
    return aten.rand(shape, generator=_generator(device, seed, offset, 0), device=device)


def _generator(device: Any, seed: int, offset: int, run: int) -> Any:
    return _C.Generator(device).manual_seed((seed * 0x9E3779B1 + offset + run * 0x85EBCA6B) & 0x7FFFFFFFFFFFFFFF)


def _fill(found: Any, begin: int, seed: int, offset: int, limit: float) -> None:
    """Write whether the numbers from `begin` on are below a limit."""
    end = begin + found.shape[0]
    for run in range(begin // _RUN, -(-end // _RUN)):
        start = run * _RUN
        first, last = max(begin, start), min(end, start + _RUN)
        drawn = aten.rand([last - start], generator=_generator(found.device, seed, offset, run), device=found.device)
        aten.copy_(found[first - begin : last - begin], drawn[first - start :] < limit)


def drawn_below(device: Any, count: Any, seed: Any, offset: Any, limit: float) -> Any:
    """Whether each of so many numbers is below a limit: those that `Kept` draws."""
    if not _in_runs(device, count):
        return uniform(device, [count], seed, offset) < limit
    found = aten.empty([count], dtype=DTYPES["bool"], device=device)
    _fill(found, 0, seed, offset, limit)
    return found
