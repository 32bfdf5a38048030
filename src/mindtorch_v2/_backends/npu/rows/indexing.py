"""Parts of tensors and places in them: slices, borders, places as ones, choices by chance."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import composite, require, require_dtype
from .numbers import has_numbers

npu = namespace("npu")
_LONG = DTYPES["int64"]


@composite(
    "npu::npu_slice(Tensor input, int[] offsets, int[] size) -> Tensor",
    "The part of `size` that begins at `offsets`, copied.",
    samples=[S(T(4, 5), [1, 0], [2, 3])],
)
def npu_slice(input: Any, offsets: Any, size: Any) -> Any:
    given = f"offsets {list(offsets)} and size {list(size)} must name each of the {input.dim()} dimensions"
    require(len(offsets) == len(size) == input.dim(), "npu_slice", given)
    for dim, (start, length) in enumerate(zip(offsets, size, strict=True)):
        input = aten.narrow(input, dim, start, length)
    return aten.contiguous(aten.clone(input))


@composite(
    "npu::npu_slice.out(Tensor input, int[] offsets, int[] size, *, Tensor(a!) out) -> Tensor(a!)",
    "npu_slice, written to `out`.",
    explicit=True,
)
def npu_slice_out(input: Any, offsets: Any, size: Any, *, out: Any) -> Any:
    part = npu.npu_slice(input, offsets, size)
    out.resize_(list(part.shape))
    return aten.copy_(out, part)


@composite(
    "npu::npu_indexing(Tensor input, int[] begin, int[] end, int[] strides, int begin_mask=0, int end_mask=0, int ellipsis_mask=0, "
    "int new_axis_mask=0, int shrink_axis_mask=0) -> Tensor",
    "Every strides[i]-th element from begin[i] to end[i] of each dimension; a bit of a mask leaves that begin or end open.",
    samples=[S(T(4, 6), [0, 1], [4, 6], [2, 2]), S(T(4, 6), [1, 1], [3, 2], [1, 1], 1, 2)],
)
def npu_indexing(
    input: Any, begin: Any, end: Any, strides: Any, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0,
    new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Any:  # fmt: skip
    operator = "npu_indexing"
    masks = {"ellipsis_mask": ellipsis_mask, "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask}
    for name, value in masks.items():
        if value:
            raise NotImplementedError(f"{operator}(): {name} is not supported; leave it 0")
    require(len(begin) == len(end) == len(strides) <= input.dim(), operator, "begin, end and strides must be as many")
    require(all(each > 0 for each in strides), operator, f"strides must be above 0, but they are {list(strides)}")
    for dim, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        first = None if begin_mask >> dim & 1 else start
        last = None if end_mask >> dim & 1 else stop
        input = aten.slice(input, dim, first, last, step)
    return aten.contiguous(input)


@composite(
    "npu::npu_pad(Tensor input, int[] paddings) -> Tensor",
    "Zeros before and after each dimension: two numbers for each, the first dimension's first.",
    samples=[S(T(2, 3), [1, 2, 0, 1]), S(T(2, 3), [1, 1])],
)
def npu_pad(input: Any, paddings: Any) -> Any:
    given = f"paddings must be two numbers for each of at most {input.dim()} dimensions, but they are {list(paddings)}"
    require(len(paddings) % 2 == 0 and len(paddings) <= 2 * input.dim(), "npu_pad", given)
    pairs = [*paddings, *[0] * (2 * input.dim() - len(paddings))]
    reversed_pairs = [number for dim in reversed(range(input.dim())) for number in pairs[2 * dim : 2 * dim + 2]]
    return aten.constant_pad_nd(input, reversed_pairs, 0)


@composite(
    "npu::npu_one_hot(Tensor input, int num_classes=-1, int depth=1, Scalar on_value=1, Scalar off_value=0) -> Tensor",
    "A new last dimension of `depth` float32 numbers: on_value at the place that the element names, off_value elsewhere.",
    explicit=True,
    samples=[S(T(5, dtype="int64", low=0, high=4, grad=False), -1, 4)],
)
def npu_one_hot(input: Any, num_classes: int = -1, depth: int = 1, on_value: Any = 1, off_value: Any = 0) -> Any:
    operator = "npu_one_hot"
    require_dtype(operator, "input", input, ("uint8", "int32", "int64"))
    require(
        num_classes == -1, operator, f"num_classes is the new dimension's place, which must be -1, not {num_classes}"
    )
    require(depth > 0, operator, f"depth must be above 0, but it is {depth}")
    found = aten.arange(depth, device=input.device) == input.to(_LONG).unsqueeze(-1)
    return aten.where(found, float(on_value), float(off_value)).to(DTYPES["float32"])


@composite(
    "npu::npu_scatter(Tensor input, Tensor indices, Tensor updates, int dim) -> Tensor",
    "A copy in which along `dim` the element that `indices` names is that of `updates`, for each place of the other dimensions.",
    samples=[S(T(3, 2), T(2, dtype="int32", low=0, high=3, grad=False), T(2), 0)],
)
def npu_scatter(input: Any, indices: Any, updates: Any, dim: int) -> Any:
    return aten.scatter(input, dim, indices.to(_LONG).unsqueeze(dim), updates.unsqueeze(dim))


@composite(
    "npu::npu_gather_sparse_index(Tensor input, Tensor index) -> Tensor",
    "The rows of `input` that `index` names.",
    samples=[S(T(5, 3), T(2, 2, dtype="int64", low=0, high=5, grad=False))],
)
def npu_gather_sparse_index(input: Any, index: Any) -> Any:
    rows = aten.index_select(input, 0, index.flatten().to(_LONG))
    return rows.reshape([*index.shape, *input.shape[1:]])


@composite(
    "npu::npu_random_choice_with_mask(Tensor x, int count=256, int seed=0, int seed2=0) -> (Tensor, Tensor)",
    "The places of `count` true elements, chosen by chance, a row each; and which rows are such, where there are fewer. Seeds "
    "other than 0 give the same choice each time.",
    explicit=True,
    grad=None,
    tags="nondeterministic_seeded",
)
def npu_random_choice_with_mask(x: Any, count: int = 256, seed: int = 0, seed2: int = 0) -> tuple:
    operator = "npu_random_choice_with_mask"
    require_dtype(operator, "x", x, ("bool",))
    require(1 <= x.dim() <= 5, operator, f"x must have 1 to 5 dimensions, but it has {x.dim()}")
    require(count > 0, operator, f"count must be above 0, but it is {count}")
    places = aten.nonzero(x) if has_numbers(x) else aten.empty([count, x.dim()], dtype=DTYPES["int64"], device=x.device)
    if seed or seed2:
        # A chance of its own: places by the golden ratio's multiples, which does not touch the generator.
        key = (
            aten.arange(1, places.shape[0] + 1, device=x.device) * 0.6180339887498949 + seed * 0.37 + seed2 * 0.73
        ) % 1
    else:
        key = aten.rand([places.shape[0]], device=x.device)
    chosen = aten.index_select(places, 0, aten.argsort(key))[:count].to(DTYPES["int32"])
    missing = count - chosen.shape[0]
    mask = aten.arange(count, device=x.device) < chosen.shape[0]
    return aten.constant_pad_nd(chosen, [0, 0, 0, missing], 0), mask
