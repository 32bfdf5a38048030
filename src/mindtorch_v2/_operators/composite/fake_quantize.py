"""Rounding to the numbers that a quantized tensor could hold, for training that is aware of it: the slope is that of the identity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._core.dtype import DTYPES
from ..table import aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor

_FLOATS = ("Float", "Double", "Half", "BFloat16")
_RANGE = "`quant_min` should be less than or         equal to `quant_max`."


def _check(x: Any, least: int, most: int, kernel: str) -> None:
    if least > most:
        raise RuntimeError(_RANGE)
    if class_name(x.dtype) not in _FLOATS:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{class_name(x.dtype)}'")


def _quantized(x: Any, scale: Any, zero_point: Any, least: int, most: int, single: bool) -> tuple:
    """The numbers of `x` on the grid, and whether each lay in its range. `scale` and `zero_point` are tensors.

    PyTorch multiplies in single precision where one scale serves all, whatever the dtype of `x`.
    """
    wide = x if class_name(x.dtype) == "Double" else x.to(DTYPES["float32"])
    scale = scale.to(DTYPES["float32"])
    steps = wide * scale.reciprocal()
    whole = not zero_point.is_floating_point()
    places = steps.round() + zero_point if whole else (steps + zero_point).round()
    inside = (places >= least) & (places <= most)
    distance = places.masked_fill(places.isnan(), float(least)).clamp(least, most) - zero_point
    distance = distance.to(DTYPES["float32"]) if single else distance
    return (distance * scale).to(x.dtype), inside


for _kind in ("tensor", "channel"):
    composite(
        f"fake_quantize_per_{_kind}_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor",
        "The gradient where the input lay in the range.",
        samples=[],
    )(lambda grad, mask: grad * mask)


def _slope(grad, result1):
    return aten.fake_quantize_per_tensor_affine_cachemask_backward(grad, result1)


def _slope_of_channels(grad, result1):
    return aten.fake_quantize_per_channel_affine_cachemask_backward(grad, result1)


@composite(
    "fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max)"
    " -> (Tensor output, Tensor mask)",
    "`self` rounded to the numbers of a quantized tensor, and where it lay in their range.",
    bind="generated_out",
    explicit=True,
    grad={"self": _slope},
    nondiff=(1,),
    samples=[],
)
def fake_quantize_per_tensor_affine_cachemask(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple:
    _check(self, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    if not quant_min <= zero_point <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    step = aten.scalar_tensor(scale, dtype=DTYPES["float32"], device=self.device)
    place = aten.scalar_tensor(zero_point, dtype=DTYPES["int64"], device=self.device)
    return _quantized(self, step, place, quant_min, quant_max, single=True)


@composite(
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
    "Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
    "`self` rounded to the numbers of a quantized tensor where that is switched on, and where it lay in their range.",
    bind="function generated_out",
    explicit=True,
    grad={"self": _slope},
    nondiff=(1,),
    samples=[],
)
def fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: int, quant_max: int
) -> tuple:
    _check(self, quant_min, quant_max, "fake_quantize_tensor_cachemask_kernel_type_handling")
    rounded, inside = _quantized(self, scale.reshape([]), zero_point.reshape([]).long(), quant_min, quant_max, True)
    off = (fake_quant_enabled < 1).reshape([])
    return aten.where(off, self, rounded), inside | off


@composite(
    "fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
    "int quant_max) -> (Tensor output, Tensor mask)",
    "`self` rounded to the numbers of a tensor quantized by channels, and where it lay in their range.",
    bind="generated_out",
    explicit=True,
    raises_by_values=True,
    grad={"self": _slope_of_channels},
    nondiff=(1,),
    samples=[],
)
def fake_quantize_per_channel_affine_cachemask(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> tuple:
    if class_name(scale.dtype) not in ("Float", "BFloat16"):
        raise RuntimeError(f"Scale must be Float or BFloat16, found {class_name(scale.dtype)}")
    if class_name(zero_point.dtype) not in ("Int", "Float", "Half"):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {class_name(zero_point.dtype)}")
    for each, name in ((scale, "scale"), (zero_point, "zero point")):
        if each.dim() != 1:
            raise RuntimeError(f"{name} should be a 1-D tensor")
    if scale.size(0) != zero_point.size(0):
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if quant_min > quant_max:
        raise RuntimeError(_RANGE)
    if not zero_point.is_floating_point():
        inside = ((zero_point >= quant_min) & (zero_point <= quant_max)).all()
        aten._assert_async(inside, "`zero_point` must be between `quant_min` and `quant_max`.")
    if scale.size(0) != self.size(axis):
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    _check(self, quant_min, quant_max, "fake_quantize_channel_cachemask_cpu_type_handling")
    shape = [-1 if d == axis else 1 for d in range(self.dim())]
    return _quantized(self, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max, single=False)


@composite(
    "fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) -> Tensor",
    "`self` rounded to the numbers of a quantized tensor; the gradient is that of the identity in their range.",
    bind="function",
    samples=[],
)
def fake_quantize_per_tensor_affine(
    self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> Tensor:
    return aten.fake_quantize_per_tensor_affine_cachemask(self, scale, zero_point, quant_min, quant_max)[0]


@composite(
    "fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
    "int quant_max) -> Tensor",
    "The same with a scale and a zero point in tensors.",
    bind="function",
    samples=[],
)
def fake_quantize_per_tensor_affine_tensors(
    self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int
) -> Tensor:
    on = aten.ones([1], dtype=DTYPES["int64"], device=self.device)
    return aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
        self, scale, zero_point, on, quant_min, quant_max
    )[0]


@composite(
    "fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
    "int quant_max) -> Tensor",
    "`self` rounded to the numbers of a tensor quantized by channels; the gradient is that of the identity in their range.",
    bind="function",
    samples=[],
)
def fake_quantize_per_channel_affine(
    self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    return aten.fake_quantize_per_channel_affine_cachemask(self, scale, zero_point, axis, quant_min, quant_max)[0]
