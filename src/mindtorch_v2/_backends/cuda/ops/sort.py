"""Order, places in it, and what occurs how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.distinct import register_distinct
from ..copies import copy
from ..sort import ranked
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_SEARCH, _MEMBER = Source("search.cuh", "search"), Source("search.cuh", "member")


def _size(self: Tensor, dim: int) -> int:
    return self.shape[dim] if self.dim() else 1


@kernel("sort")
def sort(self: Tensor, dim: int, descending: bool, values: Tensor, indices: Tensor) -> None:
    ranked(self, dim, descending, 0, _size(self, dim), values, indices, True)


@kernel("sort.stable")
def sort_stable(self: Tensor, stable: bool | None, dim: int, descending: bool, values: Tensor, indices: Tensor) -> None:
    sort(self, dim, descending, values, indices)


@kernel("topk")
def topk(self: Tensor, k: int, dim: int, largest: bool, ordered: bool, values: Tensor, indices: Tensor) -> None:
    ranked(self, dim, largest, 0, k, values, indices, True)


@kernel("kthvalue", flags=CONTIGUOUS)
def kthvalue(self: Tensor, k: int, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    ranked(self, dim, False, k - 1, 1, values, indices, False)


def _middle(self: Tensor, dim: int, ignore_nan: bool, values: Tensor, indices: Tensor) -> None:
    """The lower median along a dimension; NaN is behind all numbers."""
    n = _size(self, dim)
    if not self.is_floating_point():
        ranked(self, dim, False, (n - 1) // 2, 1, values, indices, False)
        return
    rows = self.reshape(1) if self.dim() == 0 else aten.movedim(self, dim, -1)
    ordered, order = aten.sort(rows, stable=True)
    numbers = n - aten.isnan(rows).sum(-1, keepdim=True)
    at = ((numbers if ignore_nan else aten.full_like(numbers, n)) - 1).clamp(min=0) // 2
    if not ignore_nan:
        at = aten.where(numbers < n, numbers, at)
    copy(values, ordered.gather(-1, at).view(values.shape))
    copy(indices, order.gather(-1, at).view(indices.shape))


def _median(suffix: str, ignore_nan: bool) -> None:
    @kernel(f"{suffix}.dim", flags=CONTIGUOUS)
    def along(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
        if values.numel():
            _middle(self, dim, ignore_nan, values, indices)

    @kernel(suffix, flags=CONTIGUOUS)
    def of_all(self: Tensor, out: Tensor) -> None:
        if self.numel():
            _middle(self.reshape(-1), 0, ignore_nan, out, aten.empty([], dtype=DTYPES["int64"], device=self.device))
        else:
            out.fill_(float("nan") if self.is_floating_point() else 0)


_median("median", False)
_median("nanmedian", True)


@kernel("mode", flags=CONTIGUOUS)
def mode(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
    if not values.numel():
        return
    rows = self.reshape(1) if self.dim() == 0 else aten.movedim(self, dim, -1)
    ordered, order = aten.sort(rows, stable=True)
    n = ordered.shape[-1]
    places = aten.arange(n, device=self.device).expand(ordered.shape)
    begins = aten.ones_like(ordered, dtype=DTYPES["bool"])
    if n > 1:
        later, earlier = ordered.narrow(-1, 1, n - 1), ordered.narrow(-1, 0, n - 1)
        same = later == earlier
        if self.is_floating_point():
            same = same | (aten.isnan(later) & aten.isnan(earlier))
        begins.narrow(-1, 1, n - 1).copy_(~same)
    lengths = places - aten.cummax(aten.where(begins, places, aten.zeros_like(places)), -1)[0]
    at = lengths.argmax(-1, keepdim=True)  # the last of the first of the longest runs
    copy(values, ordered.gather(-1, at).view(values.shape))
    copy(indices, order.gather(-1, at).view(indices.shape))


# ---- searches ----


def _compared(a: Tensor, b: Tensor) -> Any:
    """The dtype that two are compared in: double or int64, in which every narrower element is exact."""
    real = a.is_floating_point() or b.is_floating_point()
    return DTYPES["float64" if real else "int64"]


def _search(sequence: Tensor, values: Tensor, sorter: Tensor | None, right: bool, out: Tensor) -> None:
    if not values.numel():
        return
    dtype = _compared(sequence, values)
    ordered, wanted = (t.to(dtype).contiguous() for t in (sequence, values))
    n = sequence.shape[-1] if sequence.dim() else 1
    per_row = values.shape[-1] if sequence.dim() > 1 else values.numel()
    words = (
        ("IN", element(dtype)), ("OUT", element(out.dtype)), ("RIGHT", str(int(right))),
    )  # fmt: skip
    order = None if sorter is None else sorter.contiguous()
    arguments = pack(values.numel(), n, per_row, ordered, wanted, order, out)
    _SEARCH.launch(values.device.index, words, (blocks(values.numel(), 256),), (256,), arguments)


@kernel("searchsorted.Tensor", "searchsorted.Scalar", flags=CONTIGUOUS)
def searchsorted(
    sorted_sequence: Tensor,
    self: Any,
    out_int32: bool,
    right: bool,
    side: str | None,
    sorter: Tensor | None,
    out: Tensor,
) -> None:
    values = self if hasattr(self, "dtype") else aten.scalar_tensor(self, device=sorted_sequence.device)
    if not hasattr(self, "dtype") and isinstance(self, int):
        values = aten.full([], self, dtype=DTYPES["int64"], device=sorted_sequence.device)
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    leading = sorted_sequence.shape[:-1]
    if sorted_sequence.dim() > 1 and (values.dim() != sorted_sequence.dim() or values.shape[:-1] != leading):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor "
            f"and input value tensor must match, but we got boundaries tensor {list(sorted_sequence.shape)} and input value "
            f"tensor {list(values.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sorted_sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sorted_sequence.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != DTYPES["int64"]:
            raise RuntimeError(
                f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype}"
            )
    _search(sorted_sequence, values.to(sorted_sequence.device), sorter, right, out)


@kernel("bucketize.Tensor", "bucketize.Scalar", flags=CONTIGUOUS)
def bucketize(self: Any, boundaries: Tensor, out_int32: bool, right: bool, out: Tensor) -> None:
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    searchsorted(boundaries, self, out_int32, right, None, None, out)


@kernel("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor", flags=CONTIGUOUS)
def isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool, out: Tensor) -> None:
    given, tests = (
        value if hasattr(value, "dtype") else aten.full([], value, dtype=_number_dtype(value), device=out.device)
        for value in (elements, test_elements)
    )
    if not out.numel():
        return
    dtype = _compared(given, tests)
    wanted, ordered = given.to(dtype).contiguous(), aten.sort(tests.reshape(-1).to(dtype))[0]
    words = (("IN", element(dtype)), ("OUT", "b8"), ("RIGHT", "0"))
    arguments = pack(out.numel(), ordered.shape[0], int(invert), ordered, wanted, None, out)
    _MEMBER.launch(out.device.index, words, (blocks(out.numel(), 256),), (256,), arguments)


def _number_dtype(value: Any) -> Any:
    return DTYPES["float64" if isinstance(value, float) else "int64"]


# ---- distinct elements ----


register_distinct(kernel)
