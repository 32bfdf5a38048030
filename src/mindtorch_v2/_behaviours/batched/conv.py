"""Rules of vmap for the family conv: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ._call import Batch, of_no_slices, rule
from ._shared import channels, channels_back, first, first_back


@rule("convolution")
@of_no_slices
def _convolution(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias, *rest, groups = values
    if not batched.levels_of(weight):
        own_bias = None if bias is not None and batched.levels_of(bias) else bias
        made = first_back(batch, op(first(batch, x), weight, own_bias, *rest, groups))
        return made if own_bias is bias else made + bias.reshape(-1, *(1,) * (x.dim() - 2))
    made = op(
        channels(batch, x), first(batch, weight), None if bias is None else first(batch, bias), *rest,
        groups * batch.count,
    )  # fmt: skip
    return channels_back(batch, made)


@rule("convolution_backward")
@of_no_slices
def _convolution_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, weight, bias_sizes, *rest, groups, mask = values
    made = op(
        channels(batch, gradient), channels(batch, x), first(batch, weight),
        None if bias_sizes is None else [batch.count * bias_sizes[0]], *rest, groups * batch.count, mask,
    )  # fmt: skip
    return tuple(
        None if m is None else back(batch, m)
        for m, back in zip(made, (channels_back, first_back, first_back), strict=True)
    )
