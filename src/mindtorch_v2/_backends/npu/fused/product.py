"""Products of groups, and of 8-bit numbers with scales."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import settings
from .kernels import OUT, fused

_INT8, _INT32, _INT64 = (DTYPES[name] for name in ("int8", "int32", "int64"))
_FLOATING = tuple(DTYPES[name] for name in ("float16", "bfloat16", "float32"))
_APART, _BY_ROWS, _BY_INNER = -1, 0, 2
_RESULTS = {None: None, 5: "float16", 15: "bfloat16", 1: "int8"}


def _results(*values: Any) -> list[Any]:
    """The list of a grouped product's results. Rows of no group are zero, and the operator leaves them as they are."""
    x, weight, group_list, group_type, dtype = (
        values[0],
        values[1],
        values[8],
        values[13],
        _dtype(values[0], values[17]),
    )
    if group_type == _APART:
        made = [aten.new_empty(a, [*a.shape[:-1], b.shape[-1]]) for a, b in zip(x, weight, strict=True)]
    elif group_type == _BY_INNER:
        made = [aten.new_empty(x[0], [group_list.shape[0], x[0].shape[0], weight[0].shape[-1]])]
    else:
        made = [aten.new_zeros(x[0], [x[0].shape[0], weight[0].shape[-1]], dtype=dtype)]
    return [made]


def _dtype(x: Any, output_dtype: Any) -> Any:
    """The results' dtype; None where it is not the operator's."""
    if x[0].dtype in _FLOATING:
        return x[0].dtype if output_dtype is None else None
    name = _RESULTS.get(output_dtype)
    return DTYPES[name] if name in ("float16", "bfloat16") else None


@fused("npu::npu_grouped_matmul", "aclnnGroupedMatmulV4", results=_results)
def grouped_matmul(
    x: Any, weight: Any, bias: Any, scale: Any, offset: Any, antiquant_scale: Any, antiquant_offset: Any,
    per_token_scale: Any, group_list: Any, activation_input: Any, activation_quant_scale: Any,
    activation_quant_offset: Any, split_item: Any, group_type: Any, group_list_type: Any, act_type: Any,
    tuning_config: Any, output_dtype: Any, *dtypes: Any,
) -> tuple | None:  # fmt: skip
    if not x or not weight or any((offset, antiquant_scale, antiquant_offset, activation_input, act_type)):
        return None
    split, kind = split_item or 0, group_list_type or 0
    whole = x[0].dtype == _INT8
    if not whole and x[0].dtype not in _FLOATING:
        return None
    if _dtype(x, output_dtype) is None or any(each.dtype != x[0].dtype for each in (*x, *weight)) or kind not in (0, 1):
        return None
    if group_type == _APART:
        fits = not whole and split < 2 and len(x) == len(weight) and all(each.dim() == 2 for each in weight)
    else:
        lists = (bias, scale, per_token_scale)
        one = len(x) == len(weight) == 1 and x[0].dim() == 2 and all(not each or len(each) == 1 for each in lists)
        fits = one and split > 1 and group_list is not None and group_list.dtype == _INT64 and x[0].numel() > 0
        if group_type == _BY_ROWS:
            fits = fits and weight[0].dim() == 3 and group_list.shape[0] == weight[0].shape[0]
            fits = fits and bool(scale) == whole and not (per_token_scale and not whole)
        else:
            fits = fits and group_type == _BY_INNER and not whole and weight[0].dim() == 2 and not bias
    if not fits:
        return None
    tensors = (x, weight, bias, scale, None, None, None, per_token_scale)
    return *tensors, group_list, None, None, None, split, group_type, kind, 0, OUT[0], None, None


@fused("npu::npu_quant_matmul", "aclnnQuantMatmulV4")
def quant_matmul(
    x1: Any, x2: Any, scale: Any, offset: Any, pertoken_scale: Any, bias: Any, output_dtype: Any, *others: Any,
) -> tuple | None:  # fmt: skip
    if x1.dtype != _INT8 or x2.dtype != _INT8 or x1.dim() != 2 or x2.dim() != 2:
        return None
    if output_dtype not in _RESULTS or any(each is not None for each in others):
        return None
    return x1, x2, scale, offset, pertoken_scale, bias, False, False, OUT[0]


_AS_IT_IS = (0, 1, 2)


@fused("npu::npu_transpose_batchmatmul", "aclnnTransposeBatchMatMul")
def transpose_batchmatmul(
    input: Any, weight: Any, bias: Any, scale: Any, perm_x1: Any, perm_x2: Any, perm_y: Any, batch_split_factor: Any,
) -> tuple | None:  # fmt: skip
    if bias is not None or scale is not None or input.dtype != weight.dtype or input.dim() != 3 or weight.dim() != 3:
        return None
    orders = (perm_x1 or _AS_IT_IS, perm_x2 or _AS_IT_IS, perm_y or (1, 0, 2))
    return input, weight, None, None, *orders, settings.matmul.cube_math_type(), 1, OUT[0]


@fused("npu::npu_weight_quant_batchmatmul", "aclnnWeightQuantBatchMatmulV2")
def weight_quant_batchmatmul(
    x: Any, weight: Any, antiquant_scale: Any, antiquant_offset: Any, quant_scale: Any, quant_offset: Any, bias: Any,
    antiquant_group_size: int, inner_precise: int, weight_dtype: Any,
) -> tuple | None:  # fmt: skip
    parameters = [each for each in (antiquant_scale, antiquant_offset) if each is not None]
    fits = x.dtype.itemsize == 2 and x.dim() == weight.dim() == 2 and weight.dtype == _INT8 and quant_scale is None
    if not fits or inner_precise or any(each.dtype != x.dtype for each in parameters):
        return None
    if antiquant_group_size and any(each.dim() != 2 for each in parameters):
        return None
    return x, weight, antiquant_scale, antiquant_offset, None, None, bias, antiquant_group_size, OUT[0]
