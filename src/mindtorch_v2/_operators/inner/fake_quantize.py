"""Fake quantization whose scale and zero point are learnt (Esser et al., "Learned Step Size Quantization", 2020)."""

from __future__ import annotations

from ... import _C
from ..table import S, T, aten, composite


def _place(zero_point, least, most, forward):
    """The zero point of a tensor as a whole number in the range."""
    place = float(zero_point[0])
    place = round(place) if forward else place + 0.5
    return int(min(max(place, least), most))


def _places(zero_point, least, most):
    return zero_point.round().clamp(least, most)


def _gradients(grad, self, scale, place, least, most, grad_factor):
    """Each element's parts of the gradients of the input, the scale and the zero point."""
    number = (self / scale).round() + place
    within = (number >= least) & (number <= most)
    bounded = number.clamp(least, most)
    error = ((bounded - place) * scale - self) / scale
    to_scale = grad * aten.where(within, error, bounded - place) * grad_factor
    to_place = aten.where(within, 0.0, grad * -scale * grad_factor)
    return grad * within, to_scale, to_place


_TAIL = "int quant_min, int quant_max, float grad_factor=1."


@composite(
    f"_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, {_TAIL}) -> Tensor",
    "`self` rounded to the numbers of a quantized tensor whose scale and zero point have gradients.",
    bind="function generated_out",
    explicit=True,
    grad={
        ("self", "scale", "zero_point"): lambda grad, self, scale, zero_point, quant_min, quant_max, grad_factor: (
            aten._fake_quantize_learnable_per_tensor_affine_backward(
                grad, self, scale, zero_point, quant_min, quant_max, grad_factor
            )
        )
    },
    samples=[S(T(3, 4), T(1, low=0.1, high=0.2), T(1, low=1.2, high=1.3), -3, 4, 0.5)],
    dtypes="float32",
)
def _fake_quantize_learnable_per_tensor_affine(self, scale, zero_point, quant_min, quant_max, grad_factor=1.0):
    place = _place(zero_point, quant_min, quant_max, True)
    return aten.fake_quantize_per_tensor_affine(self, float(scale[0]), place, quant_min, quant_max)


@composite(
    "_fake_quantize_learnable_per_tensor_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point,"
    f" {_TAIL}) -> (Tensor, Tensor, Tensor)",
    "The gradients of that, for the input, the scale and the zero point.",
    explicit=True,
    samples=[S(*[T(3, 4, grad=False)] * 2, T(1, low=0.1, high=0.2, grad=False), T(1, low=1, grad=False), -3, 4, 0.5)],
    dtypes="float32",
)
def _fake_quantize_learnable_per_tensor_affine_backward(
    grad, self, scale, zero_point, quant_min, quant_max, grad_factor=1.0
):
    if not self.numel():
        return self, scale, zero_point
    place = _place(zero_point, quant_min, quant_max, False)
    made = _gradients(grad, self, scale[0], place, quant_min, quant_max, grad_factor)
    return made[0], made[1].sum().unsqueeze(0), made[2].sum().unsqueeze(0)


@composite(
    "_fake_quantize_learnable_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis,"
    f" {_TAIL}) -> Tensor",
    "`self` rounded to the numbers of a tensor quantized by channels, whose scales and zero points have gradients.",
    bind="function generated_out",
    explicit=True,
    grad={
        (
            "self",
            "scale",
            "zero_point",
        ): lambda grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor: (
            aten._fake_quantize_learnable_per_channel_affine_backward(
                grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor
            )
        )
    },
    samples=[S(T(3, 4), T(4, low=0.1, high=0.2), T(4, low=-1, high=1), 1, -3, 4, 0.5)],
    dtypes="float32",
)
def _fake_quantize_learnable_per_channel_affine(self, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0):
    places = _places(zero_point, quant_min, quant_max).to(_C._dtypes["int32"])
    return aten.fake_quantize_per_channel_affine(self, scale, places, axis, quant_min, quant_max)


@composite(
    "_fake_quantize_learnable_per_channel_affine_backward(Tensor grad, Tensor self, Tensor scale, Tensor zero_point,"
    f" int axis, {_TAIL}) -> (Tensor, Tensor, Tensor)",
    "The gradients of that, for the input, the scales and the zero points.",
    explicit=True,
    samples=[
        S(*[T(3, 4, grad=False)] * 2, T(4, low=0.1, high=0.2, grad=False), T(4, low=-1, grad=False), 1, -3, 4, 0.5)
    ],
    dtypes="float32",
)
def _fake_quantize_learnable_per_channel_affine_backward(
    grad, self, scale, zero_point, axis, quant_min, quant_max, grad_factor=1.0
):
    if not self.numel():
        return self, scale, zero_point
    shape = [-1 if place == axis else 1 for place in range(self.dim())]
    places = _places(zero_point, quant_min, quant_max).reshape(shape)
    made = _gradients(grad, self, scale.reshape(shape), places, quant_min, quant_max, grad_factor)
    others = [place for place in range(self.dim()) if place != axis]
    return made[0], *(each.sum(others) if others else each for each in made[1:])
