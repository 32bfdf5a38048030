"""Operators that add to an argument, without writing to it."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten, namespace
from . import operations
from .checks import composite

npu = namespace("npu")


@composite(
    "npu::npu_grouped_matmul_add(Tensor input, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, bool "
    "transpose_weight=False, int group_type=2, int? group_list_type=0) -> Tensor",
    "npu_grouped_matmul_add_ without writing.",
    explicit=True,
    flops=operations.of_product,
)
def npu_grouped_matmul_add(
    input: Any, x: Any, weight: Any, group_list: Any, *, transpose_x: bool = True, transpose_weight: bool = False,
    group_type: int = 2, group_list_type: Any = 0,
) -> Any:  # fmt: skip
    return npu.npu_grouped_matmul_add_(
        aten.clone(input), x, weight, group_list, transpose_x=transpose_x, transpose_weight=transpose_weight,
        group_type=group_type, group_list_type=group_list_type,
    )  # fmt: skip


@composite(
    "npu::npu_add_quant_matmul(Tensor input, Tensor x1, Tensor x2, Tensor x2_scale, *, Tensor? x1_scale=None, int[]? "
    "group_sizes=None, int? x1_dtype=None, int? x2_dtype=None, int? x1_scale_dtype=None, int? x2_scale_dtype=None) -> Tensor",
    "npu_add_quant_matmul_ without writing.",
    explicit=True,
)
def npu_add_quant_matmul(
    input: Any, x1: Any, x2: Any, x2_scale: Any, *, x1_scale: Any = None, group_sizes: Any = None, x1_dtype: Any = None,
    x2_dtype: Any = None, x1_scale_dtype: Any = None, x2_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    return npu.npu_add_quant_matmul_(
        aten.clone(input), x1, x2, x2_scale, x1_scale=x1_scale, group_sizes=group_sizes, x1_dtype=x1_dtype,
        x2_dtype=x2_dtype, x1_scale_dtype=x1_scale_dtype, x2_scale_dtype=x2_scale_dtype,
    )  # fmt: skip


@composite(
    "npu::npu_add_quant_gmm(Tensor input, Tensor x1, Tensor x2, Tensor x2_scale, Tensor group_list, *, Tensor? x1_scale=None, "
    "int? group_list_type=0, int[]? group_sizes=None, int? x1_dtype=None, int? x2_dtype=None, int? x1_scale_dtype=None, int? "
    "x2_scale_dtype=None) -> Tensor",
    "npu_add_quant_gmm_ without writing.",
    explicit=True,
)
def npu_add_quant_gmm(
    input: Any, x1: Any, x2: Any, x2_scale: Any, group_list: Any, *, x1_scale: Any = None, group_list_type: Any = 0,
    group_sizes: Any = None, x1_dtype: Any = None, x2_dtype: Any = None, x1_scale_dtype: Any = None,
    x2_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    return npu.npu_add_quant_gmm_(
        aten.clone(input), x1, x2, x2_scale, group_list, x1_scale=x1_scale, group_list_type=group_list_type,
        group_sizes=group_sizes, x1_dtype=x1_dtype, x2_dtype=x2_dtype, x1_scale_dtype=x1_scale_dtype,
        x2_scale_dtype=x2_scale_dtype,
    )  # fmt: skip
