"""Rules of vmap for the family rnn: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ._call import Batch, by_slices, of_no_slices, rule
from ._shared import channels, channels_back, first, first_back


@rule("_lstm_scan")
@of_no_slices
def _lstm_scan(batch: Batch, op: Any, values: list) -> Any:
    gates, hx, cx, w_hh, reverse = values
    if batched.levels_of(w_hh):
        return by_slices(op, values)
    made = op(channels(batch, gates), first(batch, hx), first(batch, cx), w_hh, reverse)
    return tuple(channels_back(batch, m) if m.dim() == gates.dim() else first_back(batch, m) for m in made)
