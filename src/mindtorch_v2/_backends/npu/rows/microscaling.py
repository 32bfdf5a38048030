"""Microscaling: blocks of numbers in 8 or 4 bits that share a power of two, an exponent of eight bits (e8m0)."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_choice, require_dtype, wide
from .norm import _add_norm, normalized
from .numbers import numbers_of

_BLOCK = 32
_PAIR = 2  # the exponents of a block and of the next lie side by side


class _Element(NamedTuple):
    """The type of the numbers in a block."""

    dtype: str  # of the tensor that holds them
    exponent: int  # of the largest number
    largest: float
    ties_away: bool = False  # from zero; else to the even number


_ELEMENTS = {
    23: _Element("float8_e5m2", 15, 57344.0),
    24: _Element("float8_e4m3fn", 8, 448.0),
    291: _Element("float8_e5m2", 15, 57344.0),
    292: _Element("float8_e4m3fn", 8, 448.0),
    296: _Element("uint8", 2, 6.0),  # two of float4_e2m1 in a byte
}
_HALFWAY = (
    0.25,
    0.75,
    1.25,
    1.75,
    2.5,
    3.5,
    5.0,
)  # between the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4 and 6 of float4_e2m1


def _element(operator, dst_type, round_mode, scale_alg, dst_type_max) -> _Element:
    require(
        dst_type in _ELEMENTS,
        operator,
        "dst_type must be 23 or 291 (float8_e5m2), 24 or 292 (float8_e4m3fn) or 296 (float4_e2m1fn_x2), but it is "
        f"{dst_type}",
    )
    element = _ELEMENTS[dst_type]
    require_choice(operator, "round_mode", round_mode, ("rint", "round") if element.dtype == "uint8" else ("rint",))
    require_choice(operator, "scale_alg", scale_alg or 0, (0,))
    require(not dst_type_max, operator, f"dst_type_max must be 0, but it is {dst_type_max}")
    return element._replace(ties_away=round_mode == "round")


def _input(operator, x, element, least) -> None:
    require_dtype(operator, "the input", x, HALF_AND_FLOAT)
    require(x.dim() >= least, operator, f"the input must have at least {least} dimensions, but it has {x.dim()}")
    require(
        element.dtype != "uint8" or x.shape[-1] % 2 == 0,
        operator,
        f"float4_e2m1fn_x2 takes an even last dimension, but it is {x.shape[-1]}",
    )


def _exponents(largest, element):
    """The exponent of each block, plus 127: that of its largest number less that of the type's largest; zero for zeros."""
    bits = (largest.to(DTYPES["float32"]).view(DTYPES["int32"]) >> 23) & 255
    return aten.clamp(bits - element.exponent, 0, 254)


def _four_bits(values, ties_away):
    """The nearest of float4_e2m1's numbers, of two as near the even one or the larger, as four bits."""
    magnitude = values.abs()
    code = aten.zeros_like(magnitude, dtype=DTYPES["int32"])
    for place, middle in enumerate(_HALFWAY):
        above = magnitude > middle if place % 2 == 0 and not ties_away else magnitude >= middle
        code = code + above.to(DTYPES["int32"])
    return code + 8 * aten.signbit(values).to(DTYPES["int32"])


def _stored(values, element):
    """Scaled values as the element's type holds them; of four bits, the first of two in the lower half of a byte."""
    values = aten.clamp(values, -element.largest, element.largest)
    if element.dtype != "uint8":
        return values.to(DTYPES[element.dtype])
    pairs = aten.unflatten(_four_bits(values, element.ties_away), -1, [values.shape[-1] // 2, 2])
    return (pairs[..., 0] + pairs[..., 1] * 16).to(DTYPES["uint8"])


def _power(exponents):
    """2 ** (exponents - 127), exactly: the bits of float32, or half the smallest normal number where they are zero."""
    normal = (exponents.to(DTYPES["int32"]) << 23).view(DTYPES["float32"])
    return aten.where(exponents == 0, 2.0**-127, normal)


def _blocks(x, axis, block):
    """x with its dimension `axis` cut in blocks, padded with zeros: the new dimension follows it."""
    count = -(-x.shape[axis] // block)
    last = x.transpose(axis, -1)
    padded = aten.constant_pad_nd(last, [0, count * block - x.shape[axis]], 0.0)
    return aten.unflatten(padded, -1, [count, block])


def _paired(exponents):
    """The exponents along the last dimension in pairs, an absent partner zero: (..., ceil(n / 2), 2), as bytes."""
    count = exponents.shape[-1]
    padded = aten.constant_pad_nd(exponents.to(DTYPES["int32"]), [0, count % _PAIR], 0)
    return aten.unflatten(padded, -1, [-(-count // _PAIR), _PAIR]).to(DTYPES["uint8"])


def _quantized(x, axis, block, element) -> tuple:
    """Elements, and the exponents in pairs in the place of the axis."""
    y = wide(x)
    cut = _blocks(y, axis, block)
    exponents = _exponents(cut.abs().amax([-1]), element)
    scaled = aten.flatten(cut / _power(exponents).unsqueeze(-1), -2)[..., : x.shape[axis]]
    pairs = _paired(exponents).transpose(axis - 1, -2)
    return _stored(aten.contiguous(scaled.transpose(axis, -1)), element), aten.contiguous(pairs)


@composite(
    'npu::npu_dynamic_mx_quant(Tensor input, *, int axis=-1, str round_mode="rint", int dst_type=296, int '
    "block_size=32, int? scale_alg=0, float dst_type_max=0.0, float max_low_bound=0.0) -> (Tensor, Tensor)",
    "Blocks along `axis` in 8 or 4 bits: elements (two of 4 bits in a byte), and the exponents of the blocks in "
    "pairs, as bytes.",
    explicit=True,
    grad=no_gradient("npu_dynamic_mx_quant", "input"),
    samples=[S(T(2, 40, grad=False), dst_type=296), S(T(3, 64, 2, grad=False), axis=1, dst_type=296)],
)
def npu_dynamic_mx_quant(
    input: Any, *, axis: int = -1, round_mode: str = "rint", dst_type: int = 296, block_size: int = 32,
    scale_alg: Any = 0, dst_type_max: float = 0.0, max_low_bound: float = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_dynamic_mx_quant"
    element = _element(operator, dst_type, round_mode, scale_alg, dst_type_max)
    require(max_low_bound == 0.0, operator, f"max_low_bound must be 0, but it is {max_low_bound}")
    _input(operator, input, element, 1)
    require(
        -input.dim() <= axis < input.dim(),
        operator,
        f"axis must be one of the {input.dim()} dimensions, but it is {axis}",
    )
    require(
        block_size % _BLOCK == 0 and 0 < block_size <= 1024,
        operator,
        f"block_size must be a multiple of 32 up to 1024, but it is {block_size}",
    )
    return _quantized(input, axis % input.dim() - input.dim(), block_size, element)


@composite(
    'npu::npu_dynamic_mx_quant_with_dual_axis(Tensor input, *, str round_mode="rint", int dst_type=296, int '
    "scale_alg=0, float? dst_type_max=0.0) -> (Tensor, Tensor, Tensor, Tensor)",
    "npu_dynamic_mx_quant along the last dimension, and along the one before it.",
    explicit=True,
    grad=no_gradient("npu_dynamic_mx_quant_with_dual_axis", "input"),
    samples=[S(T(40, 64, grad=False), dst_type=296)],
)
def npu_dynamic_mx_quant_with_dual_axis(
    input: Any, *, round_mode: str = "rint", dst_type: int = 296, scale_alg: int = 0, dst_type_max: Any = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_dynamic_mx_quant_with_dual_axis"
    element = _element(operator, dst_type, round_mode, scale_alg, dst_type_max)
    _input(operator, input, element, 2)
    return (*_quantized(input, -1, _BLOCK, element), *_quantized(input, -2, _BLOCK, element))


@composite(
    'npu::npu_dynamic_block_mx_quant(Tensor input, *, str round_mode="rint", int dst_type=296, int scale_alg=0, '
    "float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)",
    "Blocks of 32 rows and 32 columns with one exponent each: elements, and the exponents once by rows and once by "
    "columns.",
    explicit=True,
    grad=no_gradient("npu_dynamic_block_mx_quant", "input"),
    samples=[S(T(40, 64, grad=False), dst_type=296)],
)
def npu_dynamic_block_mx_quant(
    input: Any, *, round_mode: str = "rint", dst_type: int = 296, scale_alg: int = 0, dst_type_max: float = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_dynamic_block_mx_quant"
    element = _element(operator, dst_type, round_mode, scale_alg, dst_type_max)
    _input(operator, input, element, 2)
    x = wide(input)
    rows, columns = x.shape[-2], x.shape[-1]
    down, across = -(-rows // _BLOCK), -(-columns // _BLOCK)
    padded = aten.constant_pad_nd(x, [0, across * _BLOCK - columns, 0, down * _BLOCK - rows], 0.0)
    cut = padded.reshape(*x.shape[:-2], down, _BLOCK, across, _BLOCK)
    exponents = _exponents(cut.abs().amax([-3, -1]), element)
    scaled = (cut / _power(exponents).unsqueeze(-2).unsqueeze(-1)).reshape(padded.shape)[..., :rows, :columns]
    by_row = aten.repeat_interleave(exponents, _BLOCK, -2)[..., :rows, :]
    by_column = aten.repeat_interleave(exponents, _BLOCK, -1)[..., :columns]
    pairs = _paired(by_column.transpose(-1, -2)).transpose(-2, -3)
    return _stored(aten.contiguous(scaled), element), aten.contiguous(_paired(by_row)), aten.contiguous(pairs)


@composite(
    'npu::npu_grouped_dynamic_mx_quant(Tensor x, Tensor group_index, *, str round_mode="rint", int dst_type=23, int '
    "blocksize=32, int? scale_alg=0, float? dst_type_max=0.0) -> (Tensor, Tensor)",
    "Blocks of 32 rows within each group of rows of a matrix; the pairs of exponents of group i begin at its first "
    "row / 64 + i.",
    explicit=True,
    grad=no_gradient("npu_grouped_dynamic_mx_quant", "x", "group_index"),
)
def npu_grouped_dynamic_mx_quant(
    x: Any, group_index: Any, *, round_mode: str = "rint", dst_type: int = 23, blocksize: int = 32,
    scale_alg: Any = 0, dst_type_max: Any = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_grouped_dynamic_mx_quant"
    element = _element(operator, dst_type, round_mode, scale_alg, dst_type_max)
    require(x.dim() == 2, operator, f"x must have 2 dimensions, but it has {x.dim()}")
    _input(operator, x, element, 2)
    require_choice(operator, "blocksize", blocksize, (_BLOCK,))
    rows, columns = x.shape
    ends = numbers_of(group_index, [0] * (group_index.numel() - 1) + [rows])
    require(
        ends == sorted(ends) and ends[-1] == rows and ends[0] >= 0,
        operator,
        f"group_index must have the ends of groups, not falling, of which the last is the {rows} rows, but it is {ends}",
    )
    scales = aten.zeros([rows // (_BLOCK * _PAIR) + len(ends), columns, _PAIR], dtype=DTYPES["uint8"], device=x.device)
    parts = []
    for group, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        if first == last:
            continue
        y, pairs = _quantized(x[first:last], -2, _BLOCK, element)
        parts.append(y)
        start = first // (_BLOCK * _PAIR) + group
        aten.copy_(scales[start : start + pairs.shape[0]], pairs)
    return aten.cat(parts, 0), scales


@composite(
    "npu::npu_rms_norm_dynamic_mx_quant(Tensor x, Tensor gamma, *, Tensor? beta=None, float epsilon=1e-06, int "
    'scale_alg=0, str round_mode="rint", int dst_type=296) -> (Tensor, Tensor, Tensor)',
    "npu_rms_norm, plus beta, in blocks along the last dimension: elements, exponents, and the reciprocal root.",
    explicit=True,
    grad=no_gradient("npu_rms_norm_dynamic_mx_quant", "x", "gamma"),
    samples=[S(T(2, 64, grad=False), T(64, grad=False), dst_type=296)],
)
def npu_rms_norm_dynamic_mx_quant(
    x: Any, gamma: Any, *, beta: Any = None, epsilon: float = 1e-06, scale_alg: int = 0, round_mode: str = "rint",
    dst_type: int = 296,
) -> tuple:  # fmt: skip
    operator = "npu_rms_norm_dynamic_mx_quant"
    element = _element(operator, dst_type, round_mode, scale_alg, 0.0)
    _input(operator, x, element, 1)
    y, rstd = normalized(operator, wide(x), gamma, epsilon)
    y = y if beta is None else y + wide(beta)
    return (*_quantized(y.to(x.dtype), -1, _BLOCK, element), rstd)


@composite(
    "npu::npu_add_rms_norm_dynamic_mx_quant(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? beta=None, float "
    'epsilon=1e-06, int scale_alg=0, str round_mode="rint", int dst_type=296) -> (Tensor, Tensor, Tensor, Tensor)',
    "npu_rms_norm_dynamic_mx_quant of x1 + x2: elements, the sum, exponents, and the reciprocal root.",
    explicit=True,
    grad=no_gradient("npu_add_rms_norm_dynamic_mx_quant", "x1", "x2", "gamma"),
    samples=[S(T(2, 64, grad=False), T(2, 64, grad=False), T(64, grad=False), dst_type=296)],
)
def npu_add_rms_norm_dynamic_mx_quant(
    x1: Any, x2: Any, gamma: Any, *, beta: Any = None, epsilon: float = 1e-06, scale_alg: int = 0,
    round_mode: str = "rint", dst_type: int = 296,
) -> tuple:  # fmt: skip
    operator = "npu_add_rms_norm_dynamic_mx_quant"
    element = _element(operator, dst_type, round_mode, scale_alg, 0.0)
    _input(operator, x1, element, 1)
    y, rstd, total = _add_norm(operator, x1, x2, gamma, epsilon)
    y = y if beta is None else y + wide(beta)
    elements, exponents = _quantized(y.to(x1.dtype), -1, _BLOCK, element)
    return elements, total, exponents, rstd
