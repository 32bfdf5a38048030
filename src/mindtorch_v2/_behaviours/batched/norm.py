"""Rules of vmap for the family norm: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ..._operators.table import ROWS, aten
from ._call import Batch, is_tensor, of_no_slices, rule
from ._shared import channels, channels_back, first, first_back


def _shared(*tensors: Any) -> bool:
    """Whether all slices have the same weight and bias, so that the kernel can apply them."""
    return all(t is None or not batched.levels_of(t) for t in tensors)


@rule("native_layer_norm")
def _layer_norm(batch: Batch, op: Any, values: list) -> Any:
    x, shape, weight, bias, eps = values
    plain = all(v is None or not batched.levels_of(v) for v in (weight, bias))
    made, mean, rstd = op(batch.full(x), shape, weight if plain else None, bias if plain else None, eps)
    made = batch.wrap(made)
    if not plain:
        made = made if weight is None else made * weight
        made = made if bias is None else made + bias
    return made, batch.wrap(mean), batch.wrap(rstd)


@rule("native_layer_norm_backward")
def _layer_norm_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, shape, mean, rstd, weight, bias, mask = values
    normed = (x - mean) * rstd
    lead = list(range(x.dim() - len(shape)))
    inner = list(range(x.dim() - len(shape), x.dim()))
    made = [None, None, None]
    if mask[0]:
        scaled = gradient if weight is None else gradient * weight
        made[0] = rstd * (scaled - scaled.mean(inner, True) - normed * (scaled * normed).mean(inner, True))
    if mask[1] and weight is not None:
        made[1] = (gradient * normed).sum(lead) if lead else gradient * normed
    if mask[2] and bias is not None:
        made[2] = gradient.sum(lead) if lead else gradient
    return tuple(made)


@rule("native_group_norm")
@of_no_slices
def _group_norm(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias, n, channels, size, group, eps = values
    plain = all(v is None or not batched.levels_of(v) for v in (weight, bias))
    made, mean, rstd = op(
        first(batch, x),
        weight if plain else None,
        bias if plain else None,
        n * batch.count,
        channels,
        size,
        group,
        eps,
    )
    made = first_back(batch, made)
    if not plain:
        per_channel = [channels, *(1,) * (x.dim() - 2)]
        made = made if weight is None else made * weight.reshape(per_channel)
        made = made if bias is None else made + bias.reshape(per_channel)
    return made, first_back(batch, mean), first_back(batch, rstd)


@rule("native_group_norm_backward")
@of_no_slices
def _group_norm_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, mean, rstd, weight, n, channel_count, size, group, mask = values
    made = [None, None, None]
    if mask[0]:
        shared = _shared(weight)
        scaled = gradient if shared else gradient * weight.reshape(channel_count, *(1,) * (x.dim() - 2))
        whole = [first(batch, t) for t in (scaled, x, mean, rstd)]
        own = weight if shared else None
        made[0] = first_back(
            batch, op(*whole, own, n * batch.count, channel_count, size, group, [True, False, False])[0]
        )
    over = [0, *range(2, x.dim())]
    if mask[1]:
        grouped = x.reshape(n, group, -1)
        normed = ((grouped - mean.reshape(n, group, 1)) * rstd.reshape(n, group, 1)).reshape(x.shape)
        made[1] = (gradient * normed).sum(over)
    if mask[2]:
        made[2] = gradient.sum(over)
    return tuple(made)


@rule("_fused_rms_norm")
def _rms_norm(batch: Batch, op: Any, values: list) -> Any:
    x, shape, weight, eps = values
    made, rstd = op(batch.full(x), shape, weight if _shared(weight) else None, eps)
    made = batch.wrap(made)
    return made if _shared(weight) else made * weight, batch.wrap(rstd)


@rule("_fused_rms_norm_backward")
def _rms_norm_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, shape, rstd, weight, mask = values
    normed = x * rstd
    lead = list(range(x.dim() - len(shape)))
    inner = list(range(x.dim() - len(shape), x.dim()))
    made = [None, None]
    if mask[0]:
        scaled = gradient if weight is None else gradient * weight
        made[0] = rstd * (scaled - normed * (scaled * normed).mean(inner, True))
    if mask[1] and weight is not None:
        made[1] = (gradient * normed).sum(lead) if lead else gradient * normed
    return tuple(made)


def _per_channel(batch: Batch, t: Any) -> Any:
    return None if t is None else first(batch, t)


def _batch_norm(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias, *stats, training, momentum, eps = values
    running = [s for s in stats if s is not None]
    updates = training and running
    if updates and any(batched.levels_of(s) != batch.levels for s in running):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
            "were not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be "
            "False.If you are using a prebuilt module and do not need eval mode, please see the functorch website for "
            "resources on how to patch your module to work with vmap"
        )
    flat = [_per_channel(batch, s) for s in stats]
    if updates:  # what the kernel writes to need not be memory of the statistics themselves
        flat = [s if s is None else s.clone() for s in flat]
    made, *saved = op(
        channels(batch, x), _per_channel(batch, weight), _per_channel(batch, bias), *flat, training, momentum, eps
    )
    if updates:
        for old, new in zip(stats, flat, strict=True):
            if old is not None:
                old.copy_(first_back(batch, new))
    return channels_back(batch, made), *(first_back(batch, s) for s in saved)


@rule("native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit.no_stats")
@of_no_slices
def _batch_norm_of_slices(batch: Batch, op: Any, values: list) -> Any:
    return _batch_norm(batch, op, values)


@rule("_native_batch_norm_legit_no_training")
@of_no_slices
def _batch_norm_with_statistics(batch: Batch, op: Any, values: list) -> Any:
    *tensors, momentum, eps = values
    return _batch_norm(batch, ROWS["native_batch_norm"].handle, [*tensors, False, momentum, eps])


@rule("native_batch_norm_backward")
@of_no_slices
def _batch_norm_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, *tensors, training, eps, mask = values
    made = op(
        channels(batch, gradient), channels(batch, x), *(_per_channel(batch, t) for t in tensors), training, eps, mask
    )
    return tuple(
        back(batch, m) if is_tensor(m) else m
        for m, back in zip(made, (channels_back, first_back, first_back), strict=True)
    )


@rule("_weight_norm_interface")
def _weight_norm(batch: Batch, op: Any, values: list) -> Any:
    v, g, dim = values
    norms = aten.linalg_vector_norm(v, 2, [d for d in range(v.dim()) if d != dim % v.dim()], True)
    return v * (g / norms), norms.detach()
