"""Rounding to 8 bits, by scales that are given or that each row gets."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from .kernels import OUT, Use, fused

_INT8 = 2  # ACL's number of the type


def _to_int8(dst_type: Any) -> bool:
    return dst_type is None or dst_type == 1 or dst_type == DTYPES["int8"]


@fused("npu::npu_dynamic_quant", "aclnnDynamicQuant", others=("aclnnDynamicQuantV2",))
def dynamic_quant(
    input: Any, smooth_scales: Any, group_index: Any, dst_type: Any, quant_mode: str, dst_type_max: float,
) -> tuple | None:  # fmt: skip
    if not _to_int8(dst_type):
        return None
    if group_index is None:
        return input, smooth_scales, OUT[0], OUT[1]
    return Use("aclnnDynamicQuantV2"), input, smooth_scales, group_index, _INT8, OUT[0], OUT[1], None


@fused("npu::npu_dynamic_quant_asymmetric", "aclnnDynamicQuantV2")
def dynamic_quant_asymmetric(
    input: Any, smooth_scales: Any, group_index: Any, dst_type: Any, quant_mode: str, dst_type_max: float,
) -> tuple | None:  # fmt: skip
    return (input, smooth_scales, group_index, _INT8, *OUT[:3]) if _to_int8(dst_type) else None


_DTYPES = {1: "int8", 12: "int8", 0: "uint8", 13: "uint8", 3: "int32", 14: "int32"}


@fused("npu::npu_quantize", "aclnnQuantize", others=("aclnnAscendQuantV3",))
def quantize(input: Any, scales: Any, zero_points: Any, dtype: int, axis: int, div_mode: bool) -> tuple | None:
    if dtype not in _DTYPES:
        return None
    if div_mode:
        return input, scales, zero_points, DTYPES[_DTYPES[dtype]], axis, OUT[0]
    if _DTYPES[dtype] != "int8":
        return None
    return Use("aclnnAscendQuantV3"), input, scales, zero_points, False, "round", _INT8, axis, OUT[0]
