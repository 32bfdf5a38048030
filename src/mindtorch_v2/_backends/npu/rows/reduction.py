"""Largest and smallest elements along a dimension, and sorted ones."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from .checks import composite

_INT = DTYPES["int32"]


@composite(
    "npu::npu_max.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The largest elements along a dimension, and their places as int32.",
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, True)],
)
def npu_max(input: Any, dim: int, keepdim: bool = False) -> tuple:
    values, places = aten.max(input, dim, keepdim)
    return values, places.to(_INT)


@composite(
    "npu::npu_min.dim(Tensor input, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    "The smallest elements along a dimension, and their places as int32.",
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, True)],
)
def npu_min(input: Any, dim: int, keepdim: bool = False) -> tuple:
    values, places = aten.min(input, dim, keepdim)
    return values, places.to(_INT)


@composite(
    "npu::npu_sort_v2(Tensor input, int dim=-1, bool descending=False) -> Tensor",
    "The elements in their order along a dimension, without their places.",
    samples=[S(T(3, 4)), S(T(3, 4), 0, True)],
)
def npu_sort_v2(input: Any, dim: int = -1, descending: bool = False) -> Any:
    return aten.sort(input, dim, descending)[0]
