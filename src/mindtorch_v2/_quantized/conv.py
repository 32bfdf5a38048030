"""Convolutions of quantized tensors, transposed ones, and those whose input is quantized when it comes."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.quantizer import PerChannel, PerTensor
from mindtorch_v2._operators.composite.quantize import choose
from mindtorch_v2._quantized.packed import ConvParams
from mindtorch_v2.nn import functional

from .table import operator, per_tensor

_CLASS = {d: f"__torch__.torch.classes.quantized.Conv{max(d, 2)}dPackedParamsBase" for d in (1, 2, 3)}
_GEOMETRY = "int[] stride, int[] padding, int[] dilation, int groups"


def _prepack(dims: int, transpose: bool) -> None:
    def pack(
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        output_padding: Any,
        dilation: Any,
        groups: int,
    ) -> ConvParams:
        if transpose and isinstance(_C._quantizer(weight), PerChannel):
            raise RuntimeError("Per Channel Quantization is currently disabled for transposed conv")
        if weight.dim() != dims + 2:
            raise RuntimeError(f"Weights are expected to have {dims + 2} dimensions")
        for name, given in (("stride", stride), ("padding", padding), ("dilation", dilation)):
            if len(given) != dims:
                raise RuntimeError(f"{name} should contain {dims} elements for {dims}D convolution.")
        filters = weight.shape[1] * groups if transpose else weight.shape[0]
        if bias is not None and (bias.dim() != 1 or bias.numel() != filters):
            raise RuntimeError(
                "bias should be a vector (1D Tensor)" if bias.dim() != 1 else f"bias should have K elements: {filters}"
            )
        return ConvParams(
            dims,
            weight,
            bias,
            list(stride),
            list(padding),
            list(output_padding),
            list(dilation),
            groups,
            transpose,
        )

    name, outer = ("conv_transpose", "int[] output_padding, ") if transpose else ("conv", "")
    geometry = f"int[] stride, int[] padding, {outer}int[] dilation, int groups"
    schema = f"{name}{dims}d_prepack(Tensor weight, Tensor? bias, {geometry}) -> {_CLASS[dims]}"
    if transpose:
        operator(schema)(pack)
        operator(schema, of="_quantized")(pack)
        return

    def plain(weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> ConvParams:
        return pack(weight, bias, stride, padding, [0] * dims, dilation, groups)

    operator(schema)(plain)
    if dims > 1:
        operator(schema, of="_quantized")(plain)
    if dims == 2:
        operator(f"conv_prepack(Tensor weight, Tensor? bias, {_GEOMETRY}) -> {_CLASS[2]}")(plain)


for _dims in (1, 2, 3):
    for _transpose in (False, True):
        _prepack(_dims, _transpose)


# ---- what is packed ----

_PARTS = (
    ("stride", "int[]"),
    ("padding", "int[]"),
    ("output_padding", "int[]"),
    ("dilation", "int[]"),
    ("groups", "int"),
    ("transpose", "int"),
)


def _part(name: str, dims: int, part: str, kind: str) -> None:
    def read(packed_weights: Any) -> Any:
        return int(getattr(packed_weights, part)) if kind == "int" else getattr(packed_weights, part)

    operator(f"{name}{dims}d_{part}({_CLASS[dims]} packed_weights) -> {kind}")(read)


def _unpack(packed_weights: Any) -> Any:
    return packed_weights.unpack()


for _dims in (1, 2, 3):
    for _name in ("conv", "conv_transpose"):
        _result = "(Tensor unpacked_weights, Tensor? B_origin)"
        operator(f"{_name}{_dims}d_unpack({_CLASS[_dims]} packed_weights) -> {_result}")(_unpack)
        if _dims > 1:
            for _part_name, _kind in _PARTS:
                _part(_name, _dims, _part_name, _kind)
operator(f"conv_unpack({_CLASS[2]} packed_weights) -> (Tensor unpacked_weights, Tensor? B_origin)")(_unpack)


# ---- convolutions ----


def _with_gaps(whole: Any, packed: ConvParams, fill: int) -> tuple[Any, list[int]]:
    """The input of the convolution that a transposed one is, and its padding: `stride - 1` zeros after each element.

    Zeros around it are put here where the padding would be uneven.
    """
    dims = whole.dim() - 2
    stride, padding = _lists(packed.stride, dims, 1), _lists(packed.padding, dims, 0)
    outer, dilation = _lists(packed.output_padding, dims, 0), _lists(packed.dilation, dims, 1)
    kernel = packed.form.whole.shape[2:]
    sizes = [(n - 1) * s + 1 for n, s in zip(whole.shape[2:], stride)]
    spread = whole.new_full([*whole.shape[:2], *sizes], fill)
    spread[(slice(None), slice(None), *(slice(None, None, s) for s in stride))] = whole
    around: list[int] = []
    for d in reversed(range(dims)):
        near = dilation[d] * (kernel[d] - 1) - padding[d]
        around += [near, near + outer[d]]
    return functional.pad(spread, around, value=float(fill)), [0] * dims


def _lists(values: list[int], dims: int, first: int) -> list[int]:
    """Those of a convolution of one dimension, as of two."""
    return values if len(values) == dims else [first, *values]


def _as_exact(whole: Any, packed: ConvParams, zero_point: int) -> tuple:
    """The input and the geometry of the plain convolution that it is."""
    if packed.dims == 1:
        whole = whole.unsqueeze(2)
    dims = whole.dim() - 2
    dilation = _lists(packed.dilation, dims, 1)
    if packed.transpose:
        whole, padding = _with_gaps(whole, packed, zero_point)
        return whole, [1] * dims, padding, dilation
    return whole, _lists(packed.stride, dims, 1), _lists(packed.padding, dims, 0), dilation


def _check(x: Any, packed: ConvParams, name: str) -> None:
    if x.dtype != torch.quint8:
        raise RuntimeError(
            f"{name} (fbgemm): Expected activation data type QUInt8 but got {_SAID.get(x.dtype, x.dtype)}"
        )
    _check_sizes(x, packed, name)


_SAID = {torch.qint8: "QInt8", torch.qint32: "QInt32"}


def _check_sizes(x: Any, packed: ConvParams, name: str) -> None:
    if x.dim() != packed.dims + 2:
        raise RuntimeError(f"{name}(): Expected activation tensor to have {packed.dims + 2} dimensions.")
    channels = packed.weight.shape[0] if packed.transpose else packed.weight.shape[1] * packed.groups
    if x.shape[1] != channels:
        raise RuntimeError(
            f"[QConv{packed.dims}D] each dimension of output tensor should be greater than 0; given groups="
            f"{packed.groups}, expected {channels} channels, got {x.shape[1]}"
        )


def static(x: Any, packed: ConvParams, scale: float, zero_point: int, relu: bool, name: str) -> Any:
    """The convolution of a tensor of quint8, into quint8."""
    quantizer, form = per_tensor(x, name), packed.form
    _check(x, packed, f"quantized::{name}")
    whole, stride, padding, dilation = _as_exact(_C._whole(x), packed, quantizer.zero_point)
    by_onednn = torch.backends.quantized.engine in ("x86", "onednn") and not packed.transpose
    made = torch.ops.mindtorch.quantized_conv(
        whole,
        quantizer.scale,
        quantizer.zero_point,
        form.whole,
        form.sums,
        form.scales,
        form.zeros,
        packed.bias,
        stride,
        padding,
        dilation,
        packed.groups,
        scale,
        zero_point,
        relu,
        by_onednn,
    )
    made = made.squeeze(2) if packed.dims == 1 else made
    return _C._make_quantized(made, torch.quint8, PerTensor(scale, zero_point))


def floats(x: Any, packed: ConvParams) -> Any:
    """The convolution of what is quantized, in float32; `x` is floating."""
    weight, bias = packed.unpack()
    of = getattr(functional, f"conv{'_transpose' if packed.transpose else ''}{packed.dims}d")
    extra = (packed.output_padding,) if packed.transpose else ()
    order = (*extra, packed.groups, packed.dilation) if packed.transpose else (packed.dilation, packed.groups)
    return of(x, weight.dequantize(), bias, packed.stride, packed.padding, *order)


def dynamic(x: Any, packed: ConvParams, reduce_range: bool) -> Any:
    """The convolution of a tensor of float32, which becomes uint8 by its least and greatest number."""
    _check_sizes(x, packed, f"quantized::conv{packed.dims}d_dynamic")
    x = x.detach()
    least, greatest = (float(each) for each in torch.aminmax(x)) if x.numel() else (0.0, 0.0)
    scale, zero_point = choose(least, greatest, 0, 127 if reduce_range else 255)
    rounded = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8)
    return floats(rounded.dequantize(), packed)


def _convolution(name: str, dims: int, relu: bool) -> None:
    full = f"{name}{dims}d{'_relu' if relu else ''}"

    def run(qx: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        return static(qx, packed_weight, output_scale, output_zero_point, relu, full)

    arguments = f"(Tensor qx, {_CLASS[dims]} packed_weight, float output_scale, int output_zero_point) -> Tensor"
    new = ".new" if name == "conv" and dims > 1 else ""
    operator(full + new + arguments)(run)
    if new:

        def old(
            qx: Any,
            weight: Any,
            stride: Any,
            padding: Any,
            dilation: Any,
            groups: int,
            output_scale: float,
            output_zero_point: int,
        ) -> Any:
            return static(qx, weight, output_scale, output_zero_point, relu, full)

        operator(
            f"{full}(Tensor qx, {_CLASS[dims]} weight, {_GEOMETRY}, float output_scale, int output_zero_point) -> Tensor"
        )(old)
        operator(full + arguments, of="_quantized")(run)
    elif name != "conv" and dims < 3:
        operator(full + arguments, of="_quantized")(run)


def _dynamic(name: str, dims: int) -> None:
    def run(qx: Any, packed_weight: Any, reduce_range: bool = False) -> Any:
        return dynamic(qx, packed_weight, reduce_range)

    operator(f"{name}{dims}d_dynamic(Tensor qx, {_CLASS[dims]} packed_weight, bool reduce_range=False) -> Tensor")(run)


for _dims in (1, 2, 3):
    _convolution("conv", _dims, False)
    _convolution("conv", _dims, True)
    _convolution("conv_transpose", _dims, False)
    for _name in ("conv", "conv_transpose"):
        _dynamic(_name, _dims)


def _with_sum(relu: bool) -> None:
    def run(qx: Any, qaccum: Any, packed_weight: Any, output_scale: float, output_zero_point: int) -> Any:
        per_tensor(qx, "conv2d_add")
        made = floats(qx.dequantize(), packed_weight) + qaccum.dequantize()
        made = torch.relu(made) if relu else made
        return torch.quantize_per_tensor(made, output_scale, output_zero_point, qx.dtype)

    operator(
        f"conv2d_add{'_relu' if relu else ''}(Tensor qx, Tensor qaccum, {_CLASS[2]} packed_weight, float output_scale, "
        "int output_zero_point) -> Tensor"
    )(run)


for _relu in (False, True):
    _with_sum(_relu)
