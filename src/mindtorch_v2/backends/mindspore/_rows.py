"""The table: which of MindSpore's primitives does which operator's work on the CPU, and for which dtypes.

A primitive's name is that of a generated instance ("add_ext") or of a class ("MatMul"). A row was written if the derived checks
of its operator pass on it, for the dtypes for which they do: of MindSpore's primitives many have no kernel for the CPU (`exp2`,
`layer_norm_ext`, `argmax_ext`), and some compute something else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C

__all__ = ["TABLE", "Row"]

FLOAT = frozenset(("float32", "float64"))
HALF = frozenset(("float16",))
BFLOAT = frozenset(("bfloat16",))
INTEGER = frozenset(("int64", "int32", "int16", "int8", "uint8"))
COMPLEX = frozenset(("complex64", "complex128"))
BOOL = frozenset(("bool",))
REAL = FLOAT | HALF | BFLOAT | INTEGER
EVERY = REAL | COMPLEX | BOOL
_REDUCTIONS = ("none", "mean", "sum")


@dataclasses.dataclass(frozen=True)
class Row:
    """One operator and the primitive that does its work.

    Attributes:
        operator: name of the operator's own row.
        primitive: name of MindSpore's primitive.
        order: the primitive's arguments: names of the operator's, in order, or a function that takes some by name.
        dtypes: of the tensors, which are all of one.
        attributes: what a primitive that is a class is made with, as `order`.
        only: a function of arguments by name, which says whether the primitive can do a call.
        others: names of tensor arguments that have dtypes of their own.
        results: dtypes to convert results to, or "same".
        finite: whether the primitive is asked for finite numbers only: what it makes of others is not what PyTorch does.
    """

    operator: str
    primitive: str
    order: str | Callable[..., tuple]
    dtypes: frozenset[str]
    attributes: str | Callable[..., tuple] = ""
    only: Callable[..., bool] | None = None
    others: str = ""
    results: str = ""
    finite: bool = False


def _of(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _within(indices: Any, size: int) -> bool:
    """Whether indices name elements: of others the primitives make zeros, without a word."""
    return not indices.numel() or bool(indices.min() >= 0) and bool(indices.max() < size)


def _dims(dim: Any) -> tuple[int, ...]:
    """Dimensions as MindSpore takes them: none stands for all."""
    return (dim,) if isinstance(dim, int) else tuple(dim or ())


def _divides(other: Any) -> bool:
    return bool((other != 0).all())


# A scale is not always the quotient of the sizes, which is all that the primitives know.
def _unscaled_1d(scales: float | None) -> bool:
    return scales is None


def _unscaled_2d(scales_h: float | None, scales_w: float | None) -> bool:
    return scales_h is None and scales_w is None


def _unscaled_3d(scales_d: float | None, scales_h: float | None, scales_w: float | None) -> bool:
    return scales_d is None and scales_h is None and scales_w is None


TABLE = (
    Row(
        "_adaptive_avg_pool2d", "AdaptiveAvgPool2D", "self", FLOAT | HALF, attributes=lambda output_size: (output_size,)
    ),
    Row(
        "_adaptive_avg_pool3d", "AdaptiveAvgPool3D", "self", FLOAT | HALF, attributes=lambda output_size: (output_size,)
    ),
    Row(
        "_cdist_forward",
        "Cdist",
        "x1 x2",
        _of("float32"),
        attributes="p",
        only=lambda x1, x2: x1.dim() == x2.dim() in (2, 3),
    ),
    Row("_log_softmax", "LogSoftmax", "self", HALF | _of("float32"), attributes="dim"),
    Row("_pdist_forward", "Pdist", "self", FLOAT, attributes="p"),
    Row(
        "_prelu_kernel",
        "PReLU",
        lambda self, weight: (self, weight.reshape(-1)),
        HALF | _of("float32"),
        only=lambda self, weight: self.dim() > 1 and weight.numel() in (1, self.shape[1]),
    ),
    Row("_softmax", "Softmax", "self", FLOAT | HALF, attributes="dim"),
    Row("abs", "abs", "self", FLOAT | HALF | INTEGER),
    Row("acos", "ACos", "self", FLOAT | HALF | COMPLEX),
    Row("acosh", "Acosh", "self", FLOAT | HALF | COMPLEX),
    Row(
        "adaptive_max_pool2d",
        "AdaptiveMaxPool2D",
        "self",
        FLOAT | HALF,
        attributes=lambda output_size: (output_size,),
        finite=True,
    ),
    Row("add.Scalar", "add", "self other", EVERY, only=lambda alpha: alpha == 1),
    Row("add.Tensor", "add_ext", "self other alpha", EVERY),
    Row(
        "addcdiv",
        "addcdiv",
        lambda self, tensor1, tensor2, value: (self, tensor1, tensor2, self.new_full((), value)),
        FLOAT | HALF,
    ),
    Row(
        "addcmul",
        "addcmul",
        lambda self, tensor1, tensor2, value: (self, tensor1, tensor2, self.new_full((), value)),
        FLOAT | HALF,
    ),
    Row(
        "all",
        "ReduceAll",
        lambda self: (self, ()),
        FLOAT | HALF | BFLOAT | COMPLEX | BOOL | _of("int16 int32 int64 int8"),
    ),
    Row(
        "all.dim",
        "ReduceAll",
        "self dim",
        FLOAT | HALF | BFLOAT | COMPLEX | BOOL | _of("int16 int32 int64 int8"),
        attributes="keepdim",
    ),
    Row(
        "amax",
        "ReduceMax",
        lambda self, dim: (self, _dims(dim)),
        FLOAT | HALF | INTEGER,
        attributes="keepdim",
        finite=True,
    ),
    Row(
        "amin",
        "ReduceMin",
        lambda self, dim: (self, _dims(dim)),
        FLOAT | HALF | INTEGER,
        attributes="keepdim",
        finite=True,
    ),
    Row("angle", "angle", "self", COMPLEX),
    Row("any", "ReduceAny", lambda self: (self, ()), EVERY),
    Row(
        "any.dim",
        "ReduceAny",
        "self dim",
        FLOAT | HALF | BFLOAT | COMPLEX | BOOL | _of("int16 int8 uint8"),
        attributes="keepdim",
    ),
    Row(
        "argmax",
        "Argmax",
        "self",
        FLOAT | HALF | INTEGER,
        attributes=lambda dim: (dim,),
        only=lambda self, dim, keepdim: dim is not None and not keepdim and self.dim() > 1,
        results="int64",
        finite=True,
    ),
    Row(
        "argmin",
        "Argmin",
        "self",
        FLOAT | HALF | INTEGER,
        attributes=lambda dim: (dim,),
        only=lambda self, dim, keepdim: dim is not None and not keepdim and self.dim() > 1,
        results="int64",
        finite=True,
    ),
    Row("asin", "Asin", "self", FLOAT | HALF | COMPLEX),
    Row("asinh", "Asinh", "self", FLOAT | HALF | COMPLEX),
    Row("atan", "Atan", "self", FLOAT | HALF | COMPLEX),
    Row("atan2", "Atan2", "self other", FLOAT | HALF),
    Row("atanh", "atanh", "self", FLOAT | HALF | COMPLEX),
    Row(
        "binary_cross_entropy",
        "BinaryCrossEntropy",
        "self target weight",
        HALF | _of("float32"),
        attributes=lambda reduction: (_REDUCTIONS[reduction],),
    ),
    Row("bitwise_and.Tensor", "bitwise_and_tensor", "self other", _of("int64")),
    Row(
        "bitwise_left_shift.Tensor",
        "LeftShift",
        "self other",
        _of("int64"),
        only=lambda other: bool((other >= 0).all() and (other < 64).all()),
    ),
    Row("bitwise_or.Tensor", "BitwiseOr", "self other", _of("int64")),
    Row(
        "bitwise_right_shift.Tensor",
        "RightShift",
        "self other",
        _of("int64"),
        only=lambda other: bool((other >= 0).all() and (other < 64).all()),
    ),
    Row("bitwise_xor.Tensor", "BitwiseXor", "self other", _of("int64")),
    Row("bmm", "bmm_ext", "self mat2", FLOAT | HALF | COMPLEX),
    Row("cat", "Concat", lambda tensors: (tensors,), EVERY, attributes="dim"),
    Row("ceil", "ceil", "self", FLOAT | HALF),
    Row("clamp", "clamp_scalar", "self min max", FLOAT | HALF | INTEGER, finite=True),
    Row("clamp.Tensor", "clamp_tensor", "self min max", FLOAT | HALF | INTEGER, finite=True),
    Row("clamp_max", "minimum", "self max", FLOAT | HALF, finite=True),
    Row("clamp_max.Tensor", "minimum", "self max", FLOAT | HALF | INTEGER, finite=True),
    Row("clamp_min", "maximum", "self min", FLOAT | HALF, finite=True),
    Row("clamp_min.Tensor", "maximum", "self min", FLOAT | HALF | INTEGER, finite=True),
    Row("complex", "Complex", "real imag", FLOAT, only=lambda real, imag: real.shape == imag.shape),
    Row("_conj_physical", "conj", "self", FLOAT | HALF | INTEGER | COMPLEX),
    Row(
        "constant_pad_nd",
        "PadV3",
        lambda self, pad, value: (self, pad, self.new_full((), value)),
        FLOAT | HALF | INTEGER | COMPLEX | BOOL,
        only=lambda pad: min(pad) >= 0,
    ),
    Row(
        "convolution",
        "Conv2D",
        "input weight",
        _of("float32"),
        attributes=lambda weight, stride, padding, dilation, groups: (
            weight.shape[0],
            tuple(weight.shape[2:]),
            1,
            "pad",
            (padding[0], padding[0], padding[1], padding[1]),
            (1, 1, *stride),
            (1, 1, *dilation),
            groups,
        ),
        only=lambda input, bias, transposed: not transposed and input.dim() == 4 and bias is None,
    ),
    Row("cos", "cos", "self", FLOAT | HALF | COMPLEX),
    Row("cosh", "cosh", "self", FLOAT | HALF | COMPLEX),
    Row("cummax", "Cummax", "self", FLOAT | HALF | INTEGER, attributes="dim", results="same int64", finite=True),
    Row("cummin", "Cummin", "self", FLOAT | HALF | INTEGER, attributes="dim", results="same int64", finite=True),
    Row("cumprod", "CumProd", "self dim", FLOAT | HALF | COMPLEX | _of("int64"), only=lambda dtype: dtype is None),
    Row("cumsum", "CumSum", "self dim", FLOAT | HALF | COMPLEX | _of("int64"), only=lambda dtype: dtype is None),
    Row(
        "diag_embed",
        "Diag",
        "self",
        FLOAT | HALF | COMPLEX | _of("int16 int32 int64"),
        only=lambda self, offset: self.dim() == 1 and offset == 0,
    ),
    Row("digamma", "Digamma", "self", HALF | _of("float32")),
    Row("div.Scalar", "divs", "self other", EVERY),
    Row("div.Scalar_mode", "divmods", "self other rounding_mode", REAL, only=lambda other: other != 0, finite=True),
    Row("div.Tensor", "div", "self other", EVERY),
    Row("div.Tensor_mode", "divmod", "self other rounding_mode", REAL, only=_divides, finite=True),
    Row(
        "elu",
        "Elu",
        "self",
        FLOAT | HALF,
        attributes=lambda alpha: (float(alpha),),
        only=lambda alpha, scale, input_scale: scale == 1 and input_scale == 1 and alpha == 1,
    ),
    Row(
        "embedding",
        "Gather",
        lambda weight, indices: (weight, indices, 0),
        FLOAT | HALF,
        only=lambda weight, indices: _within(indices, weight.shape[0]),
        others="indices",
    ),
    Row("eq.Scalar", "eq_scalar", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("eq.Tensor", "equal", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("erf", "erf", "self", FLOAT | HALF),
    Row("erfc", "erfc", "self", FLOAT | HALF),
    Row("erfinv", "erfinv", "self", FLOAT | HALF),
    Row("exp", "exp", "self", FLOAT | HALF | COMPLEX),
    Row("expm1", "expm1", "self", FLOAT | HALF | COMPLEX),
    Row(
        "flip",
        "ReverseV2",
        "self",
        FLOAT | HALF | INTEGER | COMPLEX | BOOL,
        attributes=lambda dims: (tuple(dims),),
        only=lambda dims: bool(dims),
    ),
    Row("floor", "floor", "self", FLOAT | HALF),
    Row("floor_divide", "floor_div", "self other", REAL, only=_divides, finite=True),
    Row("floor_divide.Scalar", "FloorDiv", "self other", REAL, only=lambda other: other != 0, finite=True),
    Row("fmax", "Fmax", "self other", FLOAT | HALF | _of("int32 int64"), finite=True),
    Row("fmod.Scalar", "Mod", "self other", FLOAT | HALF | INTEGER, only=lambda other: other != 0, finite=True),
    Row("fmod.Tensor", "Mod", "self other", FLOAT | HALF | INTEGER, only=_divides, finite=True),
    Row(
        "gather",
        "gather_d",
        "self dim index",
        FLOAT | HALF | INTEGER | COMPLEX | BOOL,
        only=lambda self, dim, index: self.dim() > 0 and _within(index, self.shape[dim]),
        others="index",
    ),
    Row("gcd", "gcd", "self other", _of("int64")),
    Row("ge.Scalar", "GreaterEqual", "self other", FLOAT | HALF | INTEGER),
    Row("ge.Tensor", "greater_equal", "self other", FLOAT | HALF | INTEGER),
    Row("gelu", "GeLU", "self", FLOAT | HALF, only=lambda approximate: approximate == "tanh"),
    Row("geqrf", "Geqrf", "self", FLOAT),
    Row("glu", "GLU", "self", FLOAT | HALF, attributes="dim"),
    Row(
        "grid_sampler_2d",
        "GridSampler2D",
        "input grid",
        _of("float32"),
        attributes=lambda interpolation_mode, padding_mode, align_corners: (
            ("bilinear", "nearest")[interpolation_mode],
            ("zeros", "border", "reflection")[padding_mode],
            align_corners,
        ),
        only=lambda interpolation_mode: interpolation_mode < 2,
    ),
    Row("gt.Scalar", "Greater", "self other", FLOAT | HALF | INTEGER),
    Row("gt.Tensor", "greater", "self other", FLOAT | HALF | INTEGER),
    Row("hardshrink", "HShrink", "self", HALF | _of("float32"), attributes=lambda lambd: (float(lambd),), finite=True),
    Row("hardsigmoid", "hsigmoid", "self", FLOAT | HALF),
    Row("hardsigmoid_backward", "hsigmoid_grad", "grad_output self", FLOAT | HALF, finite=True),
    Row("hardswish", "hswish", "self", FLOAT | HALF, finite=True),
    Row("hardswish_backward", "hswish_grad", "grad_output self", FLOAT | HALF, finite=True),
    Row("heaviside", "Heaviside", "self values", FLOAT | HALF | INTEGER),
    Row(
        "histc",
        "Histogram",
        "self",
        _of("float32"),
        attributes=lambda bins, min, max: (bins, float(min), float(max)),
        only=lambda min, max: min != max,
        finite=True,
    ),
    Row("hypot", "Hypot", "self other", FLOAT),
    Row("i0", "BesselI0", "self", FLOAT | HALF),
    Row(
        "igamma",
        "Igamma",
        "self other",
        FLOAT,
        only=lambda self, other: bool((self > 0).all() and (other > 0).all()),
        finite=True,
    ),
    Row(
        "igammac",
        "Igammac",
        "self other",
        FLOAT,
        only=lambda self, other: bool((self > 0).all() and (other > 0).all()),
        finite=True,
    ),
    Row(
        "index_fill.int_Scalar",
        "IndexFill",
        lambda self, dim, index, value: (self, dim, index.int(), self.new_full((), value)),
        FLOAT | HALF | INTEGER,
        only=lambda self, dim, index: self.dim() > 0 and _within(index, self.shape[dim]),
        others="index",
    ),
    Row(
        "index_fill.int_Tensor",
        "IndexFill",
        lambda self, dim, index, value: (self, dim, index.int(), value),
        FLOAT | HALF,
        only=lambda self, dim, index: self.dim() > 0 and _within(index, self.shape[dim]),
        others="index",
    ),
    Row(
        "index_select",
        "Gather",
        "self index dim",
        FLOAT | HALF | INTEGER | COMPLEX | BOOL,
        only=lambda self, dim, index: self.dim() > 0 and _within(index, self.shape[dim]),
        others="index",
    ),
    Row("isclose", "IsClose", "self other", FLOAT | HALF, attributes="rtol atol equal_nan"),
    Row("isfinite", "isfinite", "self", FLOAT | HALF | INTEGER | BOOL),
    Row("isinf", "isinf", "self", FLOAT | HALF),
    Row("isnan", "IsNan", "self", FLOAT | HALF | INTEGER | BOOL),
    Row("lcm", "Lcm", "self other", _of("int64")),
    Row("le.Scalar", "LessEqual", "self other", FLOAT | HALF | INTEGER),
    Row("le.Tensor", "less_equal", "self other", FLOAT | HALF | INTEGER),
    Row("lerp.Scalar", "Lerp", "self end weight", HALF | _of("float32"), finite=True),
    Row("lerp.Tensor", "lerp", "self end weight", HALF | _of("float32"), finite=True),
    Row("lgamma", "Lgamma", "self", FLOAT | HALF),
    Row(
        "linalg_vector_norm",
        "LpNorm",
        "self",
        HALF | _of("float32"),
        attributes=lambda dim, ord, keepdim: (_dims(dim), int(ord), keepdim),
        only=lambda dim, ord, dtype: bool(dim) and ord in (1, 2, 3) and dtype is None,
    ),
    Row("linear", "dense", "input weight bias", FLOAT | HALF | COMPLEX),
    Row("log", "log", "self", FLOAT | HALF | COMPLEX),
    Row("log1p", "log1p", "self", FLOAT | HALF | COMPLEX),
    Row(
        "logcumsumexp",
        "CumulativeLogsumexp",
        lambda self, dim: (self, self.new_full((), dim).int()),
        FLOAT | HALF,
        finite=True,
    ),
    Row("logical_and", "logical_and", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("logical_not", "logical_not", "self", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("logical_or", "logical_or", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("logical_xor", "logical_xor", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("logit", "Logit", "self", FLOAT | HALF, attributes="eps", only=lambda eps: eps is not None),
    Row("lt.Scalar", "Less", "self other", FLOAT | HALF | INTEGER),
    Row("lt.Tensor", "less", "self other", FLOAT | HALF | INTEGER),
    Row(
        "masked_fill.Scalar",
        "masked_fill",
        lambda self, mask, value: (self, mask, self.new_full((), value)),
        FLOAT | HALF | INTEGER | COMPLEX | BOOL,
        others="mask",
    ),
    Row("masked_fill.Tensor", "masked_fill", "self mask value", FLOAT | HALF | INTEGER | COMPLEX | BOOL, others="mask"),
    Row("masked_scatter", "masked_scatter", "self mask source", FLOAT | HALF | INTEGER | BOOL, others="mask"),
    Row("masked_select", "masked_select", "self mask", FLOAT | HALF | INTEGER | COMPLEX | BOOL, others="mask"),
    Row("matmul", "matmul_ext", "self other", FLOAT | HALF | COMPLEX),
    Row("max", "max", "self", FLOAT | HALF | INTEGER, finite=True),
    Row("max.dim", "max_dim", "self dim keepdim", FLOAT | HALF | INTEGER, results="same int64", finite=True),
    Row(
        "max_pool3d_with_indices",
        "MaxPool3DWithArgmax",
        "self",
        FLOAT | HALF,
        attributes=lambda kernel_size, stride, padding, dilation, ceil_mode: (
            kernel_size,
            stride or kernel_size,
            padding,
            dilation,
            ceil_mode,
        ),
        finite=True,
    ),
    Row("maximum", "maximum", "self other", FLOAT | HALF | INTEGER, finite=True),
    Row("mean", "mean_ext", lambda self, dtype: (self, None, False, dtype), FLOAT | HALF | COMPLEX),
    Row(
        "mean.dim",
        "mean_ext",
        lambda self, dim, keepdim, dtype: (self, _dims(dim) or None, keepdim, dtype),
        FLOAT | HALF | COMPLEX,
    ),
    Row("min", "min", "self", FLOAT | HALF | INTEGER, finite=True),
    Row("min.dim", "min_dim", "self dim keepdim", FLOAT | HALF | INTEGER, results="same int64", finite=True),
    Row("minimum", "minimum", "self other", FLOAT | HALF | INTEGER, finite=True),
    Row("mm", "MatMul", "self mat2", FLOAT | HALF | COMPLEX),
    Row("mse_loss", "SquaredDifference", "self target", FLOAT | HALF, only=lambda reduction: reduction == 0),
    Row("mul.Scalar", "muls", "self other", EVERY),
    Row("mul.Tensor", "mul", "self other", EVERY),
    Row(
        "nan_to_num",
        "NanToNum",
        "self",
        HALF | _of("float32"),
        attributes=lambda nan, posinf, neginf: (nan, posinf, neginf),
    ),
    Row("ne.Scalar", "NotEqual", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("ne.Tensor", "not_equal", "self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("neg", "neg", "self", REAL | COMPLEX),
    Row("nonzero", "non_zero", "self", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("ones_like", "OnesLike", "self", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("polar", "polar", "abs angle", FLOAT),
    Row("polygamma", "Polygamma", lambda n, self: (self.new_full((), n).int(), self), FLOAT),
    Row("pow.Scalar", "pow_scalar_tensor", "self exponent", FLOAT | HALF),
    Row("pow.Tensor_Scalar", "Pow", "self exponent", FLOAT | HALF | COMPLEX),
    Row("pow.Tensor_Tensor", "pow", "self exponent", FLOAT | HALF | COMPLEX),
    Row("prod", "prod_ext", lambda self, dtype: (self, None, False, dtype), FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("prod.dim_int", "prod_ext", "self dim keepdim dtype", FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("reciprocal", "reciprocal", "self", FLOAT | HALF | COMPLEX),
    Row("relu", "relu", "self", FLOAT | HALF | INTEGER, finite=True),
    Row(
        "remainder.Scalar", "FloorMod", "self other", FLOAT | HALF | INTEGER, only=lambda other: other != 0, finite=True
    ),
    Row("remainder.Tensor", "FloorMod", "self other", FLOAT | HALF | INTEGER, only=_divides, finite=True),
    Row("repeat", "Tile", lambda self, repeats: (self, tuple(repeats)), FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row("round", "round", lambda self: (self, 0), FLOAT | HALF | _of("int32 int64")),
    Row("rsqrt", "rsqrt", "self", FLOAT | HALF | COMPLEX),
    Row("rsub.Scalar", "sub", "other self", FLOAT | HALF | INTEGER | COMPLEX, only=lambda alpha: alpha == 1),
    Row("rsub.Tensor", "sub_ext", "other self alpha", REAL | COMPLEX),
    Row(
        "scatter_add",
        "TensorScatterElements",
        "self index src",
        FLOAT | HALF | INTEGER | BOOL,
        attributes=lambda dim: (dim, "add"),
        only=lambda self, dim, index, src: (
            index.dim() > 0 and index.shape == src.shape and _within(index, self.shape[dim])
        ),
        others="index",
    ),
    Row(
        "searchsorted.Tensor",
        "SearchSorted",
        "sorted_sequence self sorter",
        FLOAT | _of("int16 int32 int64 int8"),
        attributes=lambda out_int32, right: (_C._dtypes["int32"] if out_int32 else _C._dtypes["int64"], right),
        only=lambda sorter, side: sorter is None and side is None,
        finite=True,
    ),
    Row("sgn", "Sign", "self", FLOAT | HALF | COMPLEX | _of("int32 int64")),
    Row("sigmoid", "sigmoid", "self", FLOAT | HALF | COMPLEX),
    Row("sigmoid_backward", "sigmoid_grad", "output grad_output", FLOAT | HALF | COMPLEX),
    Row("sign", "sign", "self", FLOAT | HALF | _of("int32 int64")),
    Row("silu", "silu", "self", FLOAT | HALF),
    Row("silu_backward", "silu_grad", "grad_output self", FLOAT | HALF, finite=True),
    Row("sin", "sin", "self", FLOAT | HALF | COMPLEX),
    Row("sinc", "sinc", "self", FLOAT | HALF),
    Row("sinh", "sinh", "self", FLOAT | HALF | COMPLEX),
    Row(
        "smooth_l1_loss",
        "SmoothL1Loss",
        "self target",
        FLOAT | HALF,
        attributes=lambda beta, reduction: (beta, _REDUCTIONS[reduction]),
        only=lambda beta: beta > 0,
    ),
    Row("softplus", "softplus_ext", "self beta threshold", FLOAT | HALF, finite=True),
    Row(
        "softshrink", "SoftShrink", "self", HALF | _of("float32"), attributes=lambda lambd: (float(lambd),), finite=True
    ),
    Row(
        "sort",
        "Sort",
        "self",
        HALF | INTEGER | _of("float32"),
        attributes="dim descending",
        results="same int64",
        finite=True,
    ),
    Row(
        "sort.stable",
        "Sort",
        "self",
        HALF | INTEGER | _of("float32"),
        attributes="dim descending",
        results="same int64",
        finite=True,
    ),
    Row("special_bessel_j0", "BesselJ0", "self", FLOAT),
    Row("special_bessel_j1", "BesselJ1", "self", FLOAT),
    Row("special_bessel_y0", "BesselY0", "self", FLOAT, only=lambda self: bool((self > 0).all()), finite=True),
    Row("special_bessel_y1", "BesselY1", "self", FLOAT, only=lambda self: bool((self > 0).all()), finite=True),
    Row("special_i0e", "BesselI0e", "self", FLOAT | HALF),
    Row("special_i1", "BesselI1", "self", FLOAT, finite=True),
    Row("special_i1e", "BesselI1e", "self", FLOAT),
    Row("special_modified_bessel_i0", "BesselI0", "self", FLOAT),
    Row("special_modified_bessel_i1", "BesselI1", "self", FLOAT),
    Row("special_modified_bessel_k0", "BesselK0", "self", FLOAT, only=lambda self: bool((self > 0).all()), finite=True),
    Row("special_modified_bessel_k1", "BesselK1", "self", FLOAT, only=lambda self: bool((self > 0).all()), finite=True),
    Row("special_scaled_modified_bessel_k0", "BesselK0e", "x", FLOAT, only=lambda x: bool((x > 0).all()), finite=True),
    Row("special_scaled_modified_bessel_k1", "BesselK1e", "x", FLOAT, only=lambda x: bool((x > 0).all()), finite=True),
    Row("sqrt", "sqrt", "self", FLOAT | HALF | COMPLEX),
    Row("square", "square", "self", FLOAT | HALF | INTEGER | COMPLEX),
    Row("stack", "Stack", lambda tensors: (tensors,), FLOAT | HALF | INTEGER | COMPLEX | BOOL, attributes="dim"),
    Row(
        "std.correction",
        "ReduceStd",
        "self",
        HALF | _of("float32"),
        attributes=lambda dim, correction, keepdim: (_dims(dim), correction is None or bool(correction), keepdim),
        only=lambda correction: correction in (None, 0, 1),
    ),
    Row(
        "std_mean.correction",
        "ReduceStd",
        "self",
        HALF | _of("float32"),
        attributes=lambda dim, correction, keepdim: (_dims(dim), correction is None or bool(correction), keepdim),
        only=lambda correction: correction in (None, 0, 1),
    ),
    Row("sub.Scalar", "sub", "self other", FLOAT | HALF | INTEGER | COMPLEX, only=lambda alpha: alpha == 1),
    Row("sub.Tensor", "sub_ext", "self other alpha", REAL | COMPLEX),
    Row("sum", "sum_ext", lambda self, dtype: (self, None, False, dtype), FLOAT | HALF | INTEGER | COMPLEX | BOOL),
    Row(
        "sum.dim_IntList",
        "sum_ext",
        lambda self, dim, keepdim, dtype: (self, _dims(dim) or None, keepdim, dtype),
        FLOAT | HALF | INTEGER | COMPLEX | BOOL,
    ),
    Row("tan", "tan", "self", FLOAT | HALF | COMPLEX),
    Row("tanh", "tanh", "self", FLOAT | HALF | COMPLEX),
    Row("tanh_backward", "tanh_grad", "output grad_output", FLOAT | HALF),
    Row(
        "topk",
        "TopK",
        "self k",
        FLOAT | HALF,
        attributes="sorted",
        only=lambda self, dim, largest: largest and self.dim() > 0 and dim in (-1, self.dim() - 1),
        results="same int64",
        finite=True,
    ),
    Row("trace", "Trace", "self", FLOAT | HALF | _of("int64")),
    Row("tril", "Tril", "self", FLOAT | HALF | INTEGER | BOOL, attributes="diagonal"),
    Row("triu", "Triu", "self", FLOAT | HALF | INTEGER | BOOL, attributes="diagonal"),
    Row("trunc", "trunc", "self", REAL),
    Row(
        "unique_consecutive",
        "UniqueConsecutive",
        "self",
        _of("int64"),
        attributes="return_inverse return_counts dim",
        finite=True,
    ),
    Row(
        "upsample_bilinear2d",
        "ResizeBilinearV2",
        lambda self, output_size: (self, output_size),
        HALF | _of("float32"),
        attributes=lambda align_corners: (align_corners, not align_corners),
        only=_unscaled_2d,
    ),
    Row(
        "upsample_nearest1d",
        "upsample_nearest1d",
        lambda self, output_size: (self, output_size, None),
        FLOAT | HALF,
        only=_unscaled_1d,
    ),
    Row(
        "upsample_nearest2d",
        "upsample_nearest2d",
        lambda self, output_size: (self, output_size, None),
        FLOAT | HALF,
        only=_unscaled_2d,
    ),
    Row(
        "upsample_nearest3d",
        "upsample_nearest3d",
        lambda self, output_size: (self, output_size, None),
        FLOAT | HALF,
        only=_unscaled_3d,
    ),
    Row(
        "upsample_trilinear3d",
        "UpsampleTrilinear3D",
        lambda self, output_size: (self, output_size, None),
        FLOAT | HALF,
        attributes="align_corners",
        only=_unscaled_3d,
    ),
    Row(
        "where.ScalarOther",
        "Select",
        lambda condition, self, other: (condition, self, self.new_full((), other)),
        FLOAT | HALF,
        others="condition",
    ),
    Row("where.self", "select", "condition self other", FLOAT | HALF | INTEGER | COMPLEX | BOOL, others="condition"),
    Row("xlogy.Tensor", "xlogy", "self other", FLOAT | HALF, only=lambda other: bool((other > 0).all()), finite=True),
    Row("zeros_like", "ZerosLike", "self", EVERY),
)
