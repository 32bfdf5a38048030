"""Histograms with edges: of the elements, or of the rows as points in space."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..table import S, T, aten, composite, not_recorded

if TYPE_CHECKING:
    from ..._tensor import Tensor


_TAIL = "float[]? range=None, Tensor? weight=None, bool density=False"


def _class(dtype):
    words = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}
    short = str(dtype).rpartition(".")[2]
    return words.get(short, short)


def _check(points, count, weight) -> None:
    """`points` are rows of coordinates, `count` how many dimensions have bins."""
    if points.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if count != points.size(-1):
        raise RuntimeError(
            f"torch.histogramdd: expected {points.size(-1)} sequences of bin edges for a {points.size(-1)}-dimensional "
            f"histogram but got {count}"
        )
    if weight is not None:
        if weight.shape != points.shape[:-1]:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
                f"excluding its innermost dimension, but got input with shape {list(points.shape)} and weight with "
                f"shape {list(weight.shape)}"
            )
        if weight.dtype != points.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same "
                f"dtype, but got input({_class(points.dtype)}), and weight({_class(weight.dtype)})"
            )
    if str(points.dtype).rpartition(".")[2] not in ("float32", "float64"):
        names = {"int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}
        names |= {"float16": "Half", "bfloat16": "BFloat16", "complex64": "ComplexFloat"}
        short = str(points.dtype).rpartition(".")[2]
        raise NotImplementedError(f"\"histogramdd\" not implemented for '{names.get(short, short)}'")


def _number(x) -> str:
    return f"{x:g}"


def _edges(points, bins, range):
    """One row of edges for each dimension: evenly between the ends given or found."""
    columns = points.reshape(-1, points.size(-1))
    result = []
    if range is not None and len(range) != 2 * points.size(-1):
        raise RuntimeError(
            f"torch.histogramdd: for a {points.size(-1)}-dimensional histogram range should have "
            f"{2 * points.size(-1)} elements, but got {len(range)}"
        )
    for d, count in enumerate(bins):
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}")
        if range is not None:
            low, high = float(range[2 * d]), float(range[2 * d + 1])
        elif columns.size(0) == 0 or points.is_meta:
            low, high = 0.0, 1.0
        else:
            low, high = columns[:, d].min().item(), columns[:, d].max().item()
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(
                f"torch.histogramdd: dimension {d}'s range [{_number(low)}, {_number(high)}] is not finite"
            )
        if low > high:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {_number(low)} max {_number(high)} for "
                f"dimension {d}"
            )
        if low == high:
            low, high = low - 0.5, high + 0.5
        result.append(aten.linspace(low, high, count + 1, dtype=points.dtype, device=points.device))
    return result


def _check_edges(edges) -> None:
    for d, row in enumerate(edges):
        if row.dim() != 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have one dimension, but got "
                f"{row.dim()} dimensions in the bins tensor for dimension {d}"
            )
        if row.numel() < 1:
            raise RuntimeError(
                "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor "
                f"for dimension {d}"
            )


def _count(points, edges, weight, density):
    columns = points.reshape(-1, points.size(-1))
    place, inside = None, None
    for d, row in enumerate(edges):
        x, bins = columns[:, d].contiguous(), row.numel() - 1
        at = aten.searchsorted(row, x, right=True) - 1
        at = aten.where(x == row[-1], bins - 1, at)  # the last edge belongs to the last bin
        within = (x >= row[0]) & (x <= row[-1])
        inside = within if inside is None else inside & within
        at = at.clamp(0, max(bins - 1, 0))
        place = at if place is None else place * bins + at
    sizes = [row.numel() - 1 for row in edges]
    values = aten.ones([columns.size(0)], dtype=points.dtype, device=points.device)
    values = values if weight is None else weight.reshape(-1)
    total = aten.zeros([math.prod(sizes)], dtype=points.dtype, device=points.device)
    if total.numel():
        total = total.index_add(0, place, aten.where(inside, values, 0).to(values.dtype))
    total = total.reshape(sizes)
    if density:
        total = total / total.sum()
        for d, row in enumerate(edges):
            total = total / row.diff().reshape([-1 if i == d else 1 for i in range(len(edges))])
    return total


@composite(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor bin_edges)",
    "How many elements fall into each of `bins` even bins, and the edges between them.",
    bind="function method out",
    out_dtype="torch.histogram: input and output tensors should have the same dtype, but got input {result_cpp} "
    "and output {out_cpp}",
    explicit=True,
    grad={("self", "weight"): not_recorded("histogram")},
    node="NotImplemented",
    dtypes="float",
    samples=[S(T(20, grad=False), 5), S(T(4, 5, grad=False), 4, range=[-1.0, 1.5], density=True)],
)
def histogram(
    self: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> tuple:
    points = self.reshape(-1, 1)
    heavy = None if weight is None else weight.reshape(-1) if weight.shape == self.shape else weight
    _check(points, 1, heavy)
    edges = _edges(points, [bins], range)
    return _count(points, edges, heavy, density), edges[0]


@composite(
    "histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor bin_edges)",
    "How many elements fall between each two of the edges `bins`.",
    bind="function method out",
    out_dtype="torch.histogram: input and output tensors should have the same dtype, but got input {result_cpp} "
    "and output {out_cpp}",
    explicit=True,
    grad={("self", "bins", "weight"): not_recorded("histogram")},
    node="NotImplemented",
    dtypes="float",
    samples=[S(T(20, grad=False), T(4, data=[-1.0, 0.0, 0.3, 2.0], grad=False))],
)
def histogram_edges(self: Tensor, bins: Any, *, weight: Tensor | None = None, density: bool = False) -> tuple:
    points = self.reshape(-1, 1)
    heavy = None if weight is None else weight.reshape(-1) if weight.shape == self.shape else weight
    _check(points, 1, heavy)
    _check_edges([bins])
    return _count(points, [bins], heavy, density), bins.clone()


@composite(
    "_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False)"
    " -> Tensor[]",
    "The edges of even bins along each dimension of the points.",
    bind="function generated_out",
    explicit=True,
    grad={("self", "weight"): not_recorded("_histogramdd_bin_edges")},
    node="NotImplemented",
)
def _histogramdd_bin_edges(self, bins, *, range=None, weight=None, density=False):
    _check(self, len(bins), weight)
    return _edges(self, bins, range)


@composite(
    "_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, "
    "bool density=False) -> Tensor",
    "How many points fall into each box of even bins.",
    bind="function out",
    out_tags="generated",
    explicit=True,
    grad={("self", "weight"): not_recorded("_histogramdd_from_bin_cts")},
    node="NotImplemented",
)
def _histogramdd_from_bin_cts(self, bins, *, range=None, weight=None, density=False):
    _check(self, len(bins), weight)
    return _count(self, _edges(self, bins, range), weight, density)


@composite(
    "_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor",
    "How many points fall into each box between the edges.",
    bind="function out",
    out_tags="generated",
    explicit=True,
    grad={("self", "weight"): not_recorded("_histogramdd_from_bin_tensors")},
    node="NotImplemented",
)
def _histogramdd_from_bin_tensors(self, bins, *, weight=None, density=False):
    _check(self, len(bins), weight)
    _check_edges(bins)
    return _count(self, bins, weight, density)


@composite(
    f"histogramdd(Tensor self, int[] bins, {_TAIL}) -> (Tensor hist, Tensor[] bin_edges)",
    "How many points, the rows of the last dimension, fall into each box of even bins, and the edges.",
    bind="function",
)
def histogramdd(
    self: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> tuple:
    if self.dim() >= 2 and len(bins) != self.size(-1):
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    edges = aten._histogramdd_bin_edges(self, bins, range=range, weight=weight, density=density)
    counts = aten._histogramdd_from_bin_cts(self, bins, range=range, weight=weight, density=density)
    return counts, edges


@composite(
    f"histogramdd.int_bins(Tensor self, int bins, {_TAIL}) -> (Tensor hist, Tensor[] bin_edges)",
    "The same number of bins along every dimension.",
    bind="function",
)
def histogramdd_int(
    self: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    count = self.size(-1) if self.dim() else 1
    return aten.histogramdd(self, [bins] * count, range, weight, density)


@composite(
    f"histogramdd.TensorList_bins(Tensor self, Tensor[] bins, {_TAIL}) -> (Tensor hist, Tensor[] bin_edges)",
    "The edges as tensors.",
    bind="function",
)
def histogramdd_edges(
    self: Tensor, bins: Any, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> tuple:
    if self.dim() >= 2 and len(bins) != self.size(-1):
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    return aten._histogramdd_from_bin_tensors(self, bins, weight=weight, density=density), tuple(bins)
