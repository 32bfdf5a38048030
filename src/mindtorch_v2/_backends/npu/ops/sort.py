"""Order, places in it, and what occurs how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.distinct import register_distinct
from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


_INT64 = DTYPES["int64"]


@kernel("sort")
def sort(self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> None:
    call("aclnnSort", self, True, dim, descending, values, indices)


@kernel("sort.stable")
def sort_stable(self: Tensor, stable: bool, dim: int, descending: bool, values: Tensor, indices: Tensor) -> None:
    call("aclnnSort", self, True, dim, descending, values, indices)


aclnn("bucketize.Tensor", "aclnnBucketize")
aclnn("isin.Scalar_Tensor", "aclnnIsInScalarTensor")
aclnn("isin.Tensor_Scalar", "aclnnIsInTensorScalar")
aclnn("kthvalue", "aclnnKthvalue")
aclnn("topk", "aclnnTopk")


@kernel("isin.Tensor_Tensor")
def isin(elements: Tensor, test_elements: Tensor, assume_unique: bool, invert: bool, out: Tensor) -> None:
    pairs = elements.unsqueeze(-1) == test_elements.reshape(-1)
    found = pairs.any(-1)
    call("aclnnInplaceCopy", out, ~found if invert else found)


@kernel("searchsorted.Tensor")
def searchsorted(
    sorted_sequence: Tensor, self: Tensor, out_int32: bool, right: bool, side: str, sorter: Tensor, out: Tensor
) -> None:
    call("aclnnSearchSorted", sorted_sequence, self, out_int32, right or side == "right", sorter, out)


@kernel("searchsorted.Scalar")
def searchsorted_scalar(
    sorted_sequence: Tensor, self: float, out_int32: bool, right: bool, side: str, sorter: Tensor, out: Tensor
) -> None:
    wanted = aten.new_full(sorted_sequence, [1], self)
    call("aclnnSearchSorted", sorted_sequence, wanted, out_int32, right or side == "right", sorter, out.view(1))


@kernel("bucketize.Scalar")
def bucketize_scalar(self: float, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor) -> None:
    call("aclnnSearchSorted", boundaries, aten.new_full(boundaries, [1], self), out_int32, right, None, out.view(1))


register_distinct(kernel)
