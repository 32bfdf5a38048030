"""Products of numbers in blocks that share an exponent: float8, or float4_e2m1 two to a byte, with e8m0 exponents in pairs."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import require, require_absent, require_choice, require_dtype
from .microscaling import _BLOCK, _PAIR, _power
from .quantization import dtype_named

# PyTorch's numbers of the types, and torch_npu's
_EXPONENTS = (44, 293)
_FOUR_BITS = (45, 296)
_FLOAT8 = {23: "float8_e5m2", 291: "float8_e5m2", 24: "float8_e4m3fn", 292: "float8_e4m3fn"}
_RESULTS = ("float16", "bfloat16", "float32")


def is_asked(scale_dtype: Any, scale: Any) -> bool:
    """Whether the scales of a product are exponents of blocks."""
    return scale_dtype in _EXPONENTS or (scale is not None and scale.dtype == DTYPES["float8_e8m0fnu"])


def result_dtype(operator: str, output_dtype: Any) -> Any:
    """The dtype of a product: bfloat16 where none is said."""
    return DTYPES[dtype_named(operator, output_dtype, _RESULTS, "bfloat16")]


def check_sizes(operator: str, group_sizes: Any) -> None:
    """Refuse other blocks than those of 32 along the inner dimension."""
    sizes = None if group_sizes is None else tuple(group_sizes)
    require_choice(operator, "group_sizes of exponents", sizes, (None, (1, 1, _BLOCK), (0, 0, _BLOCK)))


def _four_bits(codes: Any) -> Any:
    """The numbers of float4_e2m1: a sign, two bits of exponent and one of fraction."""
    exponent, half = (codes >> 1) & 3, (codes & 1).to(DTYPES["float32"]) * 0.5
    power = (aten.clamp(exponent + 126, 127) << 23).view(DTYPES["float32"])  # 1, 1, 2 and 4
    size = aten.where(exponent == 0, half, (1 + half) * power)
    return aten.where(codes >= 8, -size, size)


def _numbers(operator: str, name: str, x: Any, code: Any) -> Any:
    """The elements as float32; of four bits, two neighbours of the dimension whose elements lie side by side are in one byte."""
    if code not in _FOUR_BITS and x.dtype != DTYPES["float4_e2m1fn_x2"]:
        require_dtype(operator, name, x, ("float8_e4m3fn", "float8_e5m2"))
        wanted = None if code is None else _FLOAT8.get(code, code)
        require(
            wanted is None or x.dtype == DTYPES.get(wanted),
            operator,
            f"{name}_dtype is {code}, but {name} is {x.dtype}",
        )
        return x.to(DTYPES["float32"])
    require_dtype(operator, name, x, ("uint8", "float4_e2m1fn_x2"))
    if x.dim() > 1 and x.stride(-1) != 1 and x.stride(-2) == 1:
        return _numbers(operator, name, x.transpose(-1, -2), code).transpose(-1, -2)
    both = x.view(DTYPES["uint8"]).to(DTYPES["int32"])
    return _four_bits(aten.flatten(aten.stack([both & 15, both >> 4], -1), -2))


def left(operator: str, name: str, x: Any, code: Any, pairs: Any) -> Any:
    """The matrix that elements (..., M, K) and exponents (..., M, ceil(K / 64), 2) stand for."""
    values = _numbers(operator, name, x, code)
    rows, inner = values.shape[-2:]
    wanted = [*values.shape[:-2], rows, -(-inner // (_BLOCK * _PAIR)), _PAIR]
    require_dtype(operator, f"the exponents of {name}", pairs, ("uint8", "float8_e8m0fnu"))
    require(
        list(pairs.shape) == wanted,
        operator,
        f"the exponents of {name} must have the sizes {wanted}, but they have {list(pairs.shape)}",
    )
    powers = _power(aten.flatten(pairs.view(DTYPES["uint8"]).to(DTYPES["int32"]), -2))
    return values * aten.repeat_interleave(powers, _BLOCK, -1)[..., :inner]


def right(operator: str, name: str, x: Any, code: Any, pairs: Any) -> Any:
    """The matrix that elements (..., K, N) and exponents (..., ceil(K / 64), N, 2) stand for."""
    return left(operator, name, x.transpose(-1, -2), code, pairs.transpose(-3, -2)).transpose(-1, -2)


def of_inner_runs(operator: str, x: Any, weight: Any, by_row: Any, scale: Any, runs: Any, codes: tuple) -> Any:
    """x[:, a:b] @ weight[a:b] for each run, in float32; the exponents are those of `npu_grouped_dynamic_mx_quant`."""
    parts = []
    for group, (a, b) in enumerate(runs):
        start = a // (_BLOCK * _PAIR) + group
        of = slice(start, start + -(-(b - a) // (_BLOCK * _PAIR)))
        parts.append(
            aten.matmul(
                left(operator, "x", x[:, a:b], codes[0], by_row[:, of]),
                right(operator, "weight", weight[a:b], codes[1], scale[of]),
            )
        )
    return aten.stack(parts)


def product(
    operator: str, x1: Any, x2: Any, scale: Any, by_row: Any, bias: Any, output_dtype: Any, codes: tuple, sizes: Any,
    **others: Any,
) -> Any:  # fmt: skip
    """x1 @ x2 of blocks with exponents, summed in float32, plus a bias."""
    require_absent(operator, **others)
    require(by_row is not None, operator, "pertoken_scale is needed beside exponents of x2")
    check_sizes(operator, sizes)
    dtype = result_dtype(operator, output_dtype)
    a, b = left(operator, "x1", x1, codes[0], by_row), right(operator, "x2", x2, codes[1], scale)
    require(
        a.shape[-1] == b.shape[-2],
        operator,
        f"x1 has {a.shape[-1]} columns, x2 {b.shape[-2]} rows: they must be as many",
    )
    y = aten.matmul(a, b)
    return (y if bias is None else y + bias.to(DTYPES["float32"])).to(dtype)
