"""Quantized tensors looked at: their whole numbers, what those stand for, and the numbers of floating point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import _C
from ..._core.dtype import DTYPES
from ..._core.quantizer import PerChannel, PerTensor
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor

_BUG = "  (Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
_SAID = {
    PerTensor: "quantizer->qscheme() == kPerTensorAffine",
    PerChannel: "quantizer->qscheme() == kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams",
}


def quantizer_of(x: Any, name: str, kind: Any = None) -> Any:
    """The quantizer of `x`; NotImplementedError for other tensors, RuntimeError for another kind of quantizer."""
    found = _C._quantizer(x)
    if found is None:
        where = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta"}.get(x.device.type, "PrivateUse1")
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{where}' backend. It is for quantized tensors, which "
            "torch.quantize_per_tensor and torch.quantize_per_channel make."
        )
    if kind is not None and not isinstance(found, kind):
        raise RuntimeError(f"Expected {_SAID[kind]} to be true, but got false.{_BUG}")
    return found


def along(x: Any, values: Any, axis: int) -> Any:
    """A number for each index of `axis`, in sizes that go with those of `x`."""
    sizes = [1] * x.dim()
    sizes[axis] = values.numel()
    return values.reshape(sizes)


def unpacked(x: Any) -> Any:
    """The whole numbers of `x`, in its sizes also where two or four of them lie in a byte."""
    whole, bits = _C._whole(x), {DTYPES["quint4x2"]: 4, DTYPES["quint2x4"]: 2}.get(x.dtype)
    if bits is None:
        return whole
    shifts = aten.arange(0, 8, bits, dtype=DTYPES["uint8"])
    each = aten.bitwise_and(aten.bitwise_right_shift(whole.unsqueeze(1), shifts), (1 << bits) - 1)
    return each.reshape(-1)[: x.numel()].reshape(x.shape)


def check_channels(x: Any, quantizer: Any, action: str) -> None:
    """RuntimeError where there is not one scale for each index of the axis."""
    axis = quantizer.axis
    if not 0 <= axis < x.dim():
        of, colon = ("float qparams", "") if quantizer.floating else ("affine", "")
        space = " " if action == "dequantization" else ""
        raise RuntimeError(
            f"Channel axis out of range in per channel {of} {action}. Got:{'' if space else ' '}{axis}{space}{colon}Expected: "
            f"[0, {x.dim()})"
        )
    if quantizer.scales.numel() != x.shape[axis]:
        raise RuntimeError(
            f"length of scales must equal to channel, expected {x.shape[axis]} got, {quantizer.scales.numel()}"
        )


@composite(
    "dequantize.self(Tensor self) -> Tensor",
    "The numbers of a quantized tensor, or of any other, in float32.",
    bind="function method generated_out",
    explicit=True,
    samples=[S(T(3, 4))],
    gives_back=True,
    batching="dims",
)
def dequantize(self: Tensor) -> Tensor:
    quantizer = _C._quantizer(self)
    if quantizer is None:
        return self if self.dtype == DTYPES["float32"] else aten._to_copy(self, dtype=DTYPES["float32"])
    whole, single = unpacked(self), DTYPES["float32"]
    if isinstance(quantizer, PerTensor):
        if self.dtype == DTYPES["qint32"]:
            return (whole.double() - quantizer.zero_point).to(single) * quantizer.scale
        return (whole.to(single) - quantizer.zero_point) * quantizer.scale
    check_channels(self, quantizer, "dequantization")
    scales, points = (
        along(self, quantizer.scales, quantizer.axis),
        along(self, quantizer.zero_points, quantizer.axis),
    )
    if quantizer.floating:
        return ((whole.double() - points) * scales).to(single)
    return (whole.double() - points).to(single) * scales.to(single)


@composite(
    "dequantize.tensors(Tensor[] tensors) -> Tensor[]",
    "`dequantize` of each.",
    bind="function generated_out",
    explicit=True,
    samples=None,
)
def dequantize_each(tensors: list[Tensor]) -> list[Tensor]:
    return [aten.dequantize(each) for each in tensors]


@composite(
    "int_repr(Tensor self) -> Tensor",
    "The whole numbers of a quantized tensor, copied; of those with several to a byte the bytes.",
    bind="function method generated_out",
    explicit=True,
    samples=None,
)
def int_repr(self: Tensor) -> Tensor:
    quantizer_of(self, "int_repr")
    return aten.clone(_C._whole(self))


@composite("q_scale(Tensor self) -> float", "The scale.", bind="function method", explicit=True, samples=None)
def q_scale(self: Tensor) -> float:
    return float(quantizer_of(self, "q_scale", PerTensor).scale)


@composite("q_zero_point(Tensor self) -> int", "The zero point.", bind="function method", explicit=True, samples=None)
def q_zero_point(self: Tensor) -> int:
    return int(quantizer_of(self, "q_zero_point", PerTensor).zero_point)


@composite(
    "q_per_channel_scales(Tensor self) -> Tensor",
    "The scale of each index.",
    bind="function method generated_out",
    explicit=True,
    samples=None,
)
def q_per_channel_scales(self: Tensor) -> Tensor:
    return aten.alias(quantizer_of(self, "q_per_channel_scales", PerChannel).scales)


@composite(
    "q_per_channel_zero_points(Tensor self) -> Tensor",
    "The zero point of each index.",
    bind="function method generated_out",
    explicit=True,
    samples=None,
)
def q_per_channel_zero_points(self: Tensor) -> Tensor:
    return aten.alias(quantizer_of(self, "q_per_channel_zero_points", PerChannel).zero_points)


@composite(
    "q_per_channel_axis(Tensor self) -> int",
    "The dimension whose indices have scales of their own.",
    bind="function method",
    explicit=True,
    samples=None,
)
def q_per_channel_axis(self: Tensor) -> int:
    return int(quantizer_of(self, "q_per_channel_axis", PerChannel).axis)


def _no_kernel(name: str) -> Any:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> Any:
        return quantizer_of(self, name)

    return refuse


for _d, _zero, _one in (1, "[0]", "[1]"), (2, "0", "1"), (3, "0", "1"):
    composite(
        f"quantized_max_pool{_d}d(Tensor self, int[{_d}] kernel_size, int[{_d}] stride=[], int[{_d}] padding={_zero}, "
        f"int[{_d}] dilation={_one}, bool ceil_mode=False) -> Tensor",
        "The greatest element of each window of a quantized tensor.",
        bind="function",
        explicit=True,
        samples=None,
    )(_no_kernel(f"quantized_max_pool{_d}d"))


@composite(
    "quantized_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, "
    "float output_scale, int output_zero_point) -> Tensor",
    "Batch normalization of a quantized tensor by a given mean and variance.",
    bind="function",
    explicit=True,
    samples=None,
)
def quantized_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    output_scale: float,
    output_zero_point: int,
) -> Tensor:
    quantizer_of(input, "quantized_batch_norm", PerTensor)
    made = aten.batch_norm(aten.dequantize(input), weight, bias, mean, var, False, 0.0, eps, False)
    return aten.quantize_per_tensor(made, output_scale, output_zero_point, input.dtype)
