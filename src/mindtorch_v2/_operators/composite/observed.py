"""Rounding to quantized numbers by a moving average of the ends, in one operator."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor

_LEAST_SCALE = 6.1e-5  # as PyTorch's kernel: below it, products of whole numbers overflow on some processors


def _chosen(least: Tensor, most: Tensor, quant_min: int, quant_max: int, symmetric: bool) -> tuple[Tensor, Tensor]:
    """The scale and the zero point for ends (float32), each of one element or of channels."""
    zero = aten.zeros_like(least)
    least, most = aten.minimum(least, zero), aten.maximum(most, zero)
    single, steps = least.dtype, quant_max - quant_min
    both = (least < 0) & (most > 0)
    if symmetric:
        below = -(steps // 2 + 1)
        above = steps // 2
        widest = aten.maximum((least.double() / below).abs(), (most.double() / above).abs())
        least = aten.where(both, (widest * below).to(single), least)
        most = aten.where(both, (widest * above).to(single), most)
    scale = (most.double() - least.double()) / steps
    narrow = scale.to(single)
    tiny = (narrow == 0) | narrow.reciprocal().isinf()
    scale = aten.where(tiny, aten.full_like(scale, 0.1), scale)
    small = scale < _LEAST_SCALE
    grown = (_LEAST_SCALE / scale.to(single).double()).to(single)
    widest_range = aten.full_like(most, _LEAST_SCALE * steps)
    new_most = aten.where(least == 0, widest_range, aten.where(most == 0, most, most * grown))
    new_least = aten.where(least == 0, least, aten.where(most == 0, -widest_range, least * grown))
    most, least = aten.where(small, new_most, most), aten.where(small, new_least, least)
    scale = aten.where(small, aten.full_like(scale, _LEAST_SCALE), scale)
    down, up = least.double() / scale, most.double() / scale
    by_least = abs(quant_min) - down.abs() < abs(quant_max) - up.abs()  # the end that is met more exactly
    place = aten.where(by_least, quant_min - down, quant_max - up)
    if symmetric:
        middle = (quant_min + quant_max) / 2
        place = aten.where(both, aten.full_like(place, middle), place)
    return scale.to(single), place.round().clamp(quant_min, quant_max)


def _slope(grad: Any, result1: Any) -> Any:
    return aten.fake_quantize_per_tensor_affine_cachemask_backward(grad, result1)


@composite(
    "_fused_moving_avg_obs_fq_helper(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, "
    "Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, "
    "int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> (Tensor output, Tensor mask)",
    "`fused_moving_avg_obs_fake_quant`, and where `self` lay in the range.",
    explicit=True,
    grad={"self": _slope},
    nondiff=(1,),
    samples=[],
)
def fused_moving_avg_obs_fq_helper(
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> tuple:
    if ch_axis >= self.dim():
        raise RuntimeError("Error in fused_moving_avg_obs_fake_quant_cpu: ch_axis must be < self.dim()")
    if per_row_fake_quant and ch_axis != 0:
        raise RuntimeError("Per-channel FakeQuant in fused_moving_avg_obs_fake_quant is only supported on axis == 0")
    if per_row_fake_quant and running_min.numel() == 0:
        size = [self.size(ch_axis)]
        for each, first in ((running_min, math.inf), (running_max, -math.inf), (scale, 1), (zero_point, 0)):
            each.resize_(size).fill_(first)
    if self.numel():
        if per_row_fake_quant:
            least, most = aten.aminmax(self.detach().transpose(0, ch_axis).flatten(1), dim=1)
        else:
            least, most = aten.aminmax(self.detach())
        on = observer_on.reshape([]) != 0
        for running, new in ((running_min, least), (running_max, most)):
            new = new.to(running.dtype).reshape(running.shape)
            moved = running + averaging_const * (new - running)
            running.copy_(aten.where(on, aten.where(running.isinf(), new, moved), running))
        step, place = _chosen(running_min.float(), running_max.float(), quant_min, quant_max, symmetric_quant)
        rounds = fake_quant_on.reshape([]) != 0  # where not, PyTorch leaves the scale as it was
        scale.copy_(aten.where(rounds, step.reshape(scale.shape), scale))
        zero_point.copy_(aten.where(rounds, place.reshape(zero_point.shape).to(zero_point.dtype), zero_point))
    if not per_row_fake_quant:
        return aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
            self, scale, zero_point, fake_quant_on, quant_min, quant_max
        )
    rounded, inside = aten.fake_quantize_per_channel_affine_cachemask(
        self, scale, zero_point, ch_axis, quant_min, quant_max
    )
    off = fake_quant_on.reshape([]) == 0
    return aten.where(off, self, rounded), inside | off


@composite(
    "fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor(a!) running_min, "
    "Tensor(b!) running_max, Tensor(c!) scale, Tensor(d!) zero_point, float averaging_const, int quant_min, "
    "int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
    "`self` rounded to what quantized numbers hold, by averages of its ends that are moved (in `running_min`, `running_max`, "
    "`scale` and `zero_point`) where `observer_on` is not 0; rounded where `fake_quant_on` is not 0.",
    bind="function",
    samples=[],
)
def fused_moving_avg_obs_fake_quant(
    self: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    if self.numel() == 0:
        return self
    return aten._fused_moving_avg_obs_fq_helper(
        self,
        observer_on,
        fake_quant_on,
        running_min,
        running_max,
        scale,
        zero_point,
        averaging_const,
        quant_min,
        quant_max,
        ch_axis,
        per_row_fake_quant,
        symmetric_quant,
    )[0]
