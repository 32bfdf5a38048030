"""Einstein sums as products of matrices: operands are aligned by their labels, then contracted from left to right.

What depends on the equation and the sizes alone is worked out once for each, as a plan of views, sums and products.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import mindtorch_v2 as torch

__all__ = ["contract"]

_ELLIPSIS = "..."


def contract(equation: str, operands: Sequence[torch.Tensor]) -> torch.Tensor:
    """The sum of products that `equation` says of the tensors `operands`.

    Raises RuntimeError for an equation that is malformed or does not fit the operands.
    """
    shapes = tuple([operand.shape for operand in operands])
    try:
        plan = _kept_plan(equation, shapes)
    except TypeError:  # sizes that are symbols have no hash
        plan = _plan(equation, shapes)
    result = _aligned(operands[0], plan.alignments[0])
    if plan.summed_first:
        result = result.sum(plan.summed_first, keepdim=True)
    for operand, alignment, product in zip(operands[1:], plan.alignments[1:], plan.products):
        result = _multiply(result, _aligned(operand, alignment), product)
    return result.reshape(plan.shape)


class _Alignment(NamedTuple):
    """How an operand gets a dimension for each label: pairs to take diagonals of, then a permutation, then a shape."""

    diagonals: list
    order: list | None
    shape: list | None


class _Product(NamedTuple):
    """How two aligned tensors are multiplied: what each is summed over before, and the product of matrices, if any."""

    summed_left: list
    summed_right: list
    swapped: bool
    matrices: _Matrices | None


class _Matrices(NamedTuple):
    """Two aligned tensors as batches of matrices, and the product's way back."""

    left_order: list
    left_shape: list
    right_order: list
    right_shape: list
    shape: list
    order: list


class _Plan(NamedTuple):
    alignments: tuple
    summed_first: list
    products: list
    shape: list


def _aligned(operand, alignment) -> torch.Tensor:
    for first, second in alignment.diagonals:
        operand = operand.diagonal(0, first, second).movedim(-1, first)
    if alignment.order is not None:
        operand = operand.permute(alignment.order)
    return operand if alignment.shape is None else operand.reshape(alignment.shape)


def _multiply(a, b, product) -> torch.Tensor:
    if product.summed_left:
        a = a.sum(product.summed_left, keepdim=True)
    if product.summed_right:
        b = b.sum(product.summed_right, keepdim=True)
    if product.swapped:
        a, b = b, a
    if product.matrices is None:
        return a * b
    left_order, left_shape, right_order, right_shape, shape, order = product.matrices
    left, right = a.permute(left_order).reshape(left_shape), b.permute(right_order).reshape(right_shape)
    return torch.bmm(left, right).reshape(shape).permute(order)


def _plan(equation, shapes):
    inputs, output = _parse(equation, len(shapes))
    ellipsis_rank = _check_sizes(inputs, shapes)
    dots = [f"{_ELLIPSIS}{i}" for i in range(ellipsis_rank)]
    order, kept = _order(inputs, output, dots)
    alignments, aligned = zip(*[_align(labels, shape, order, dots) for labels, shape in zip(inputs, shapes)])
    _check_ellipses(shapes, aligned, [dim for dim, label in enumerate(order) if label in dots])
    last_use = {label: i for i, labels in enumerate(inputs) for label in _expand(labels, dots)}
    done = [
        [dim for dim, label in enumerate(order) if label not in kept and last_use.get(label) == i]
        for i in range(len(shapes))
    ]
    sizes, products = _without(aligned[0], done[0]), []
    for other, summed in zip(aligned[1:], done[1:]):
        product, sizes = _plan_product(sizes, other, summed)
        products.append(product)
    # What is left of summed labels are dimensions of size 1 behind those of the output.
    return _Plan(alignments, done[0], products, sizes[: len(kept)])


_kept_plan = functools.lru_cache(maxsize=512)(_plan)


def _parse(equation, count) -> tuple:
    """The labels of each operand and of the output (None if implicit), as lists of letters and "..."."""
    left, arrow, right = equation.partition("->")
    inputs, begin = [], 0
    for i, part in enumerate(left.split(",")):
        inputs.append(_labels(part, f"operand {i}", begin))
        begin += len(part) + 1
    if len(inputs) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    if len(inputs) > count:
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    output = _labels(right, "output", len(left) + len(arrow)) if arrow else None
    return inputs, output


def _labels(text, where, begin) -> list[str]:
    """The labels of a part of the equation, which begins there in it."""
    labels, i = [], 0
    while i < len(text):
        if text[i] == " ":
            i += 1
            continue
        if text[i] == ".":
            if _ELLIPSIS in labels:
                known = "but an ellipsis (...) was" if where == "output" else "for which an ellipsis was"
                raise RuntimeError(f"einsum(): found '.' for {where} {known} already found")
            if not text.startswith(_ELLIPSIS, i):
                dots = " (...)" if where == "output" else ""
                raise RuntimeError(f"einsum(): found '.' for {where} that is not part of any ellipsis{dots}")
            labels.append(_ELLIPSIS)
            i += 3
            continue
        if not (text[i].isascii() and text[i].isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {begin + i} in the equation string, subscripts must be in "
                "[a-zA-Z]"
            )
        if where == "output" and text[i] in labels:
            raise RuntimeError(f"einsum(): output subscript {text[i]} appears more than once in the output")
        labels.append(text[i])
        i += 1
    return labels


def _check_sizes(inputs, shapes) -> int:
    """The greatest number of dimensions of an ellipsis; raises RuntimeError where sizes do not fit."""
    sizes: dict[Any, Any] = {}
    ellipsis_rank = 0
    for i, (labels, shape) in enumerate(zip(inputs, shapes)):
        named = len(labels) - labels.count(_ELLIPSIS)
        rest = len(shape) - named
        if rest < 0 or (rest > 0 and _ELLIPSIS not in labels):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({named}) "
                f"{'does not match' if _ELLIPSIS not in labels else 'is more than'} the number of dimensions "
                f"({len(shape)}) for operand {i}{'' if _ELLIPSIS in labels else ' and no ellipsis was given'}"
            )
        if _ELLIPSIS in labels:
            ellipsis_rank = max(ellipsis_rank, rest)
        dim = 0
        own: dict[Any, Any] = {}
        for label in labels:
            if label == _ELLIPSIS:
                dim += rest
                continue
            size = shape[dim]
            if own.setdefault(label, size) != size:
                raise RuntimeError(
                    f"einsum(): subscript {label} is repeated for operand {i} but the sizes don't match, {size} != "
                    f"{own[label]}"
                )
            known = sizes.get(label, 1)
            if size != known and size != 1 and known != 1:
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {size} for operand {i} which does not broadcast with "
                    f"previously seen size {known}"
                )
            sizes[label] = max(size, known) if 0 not in (size, known) else 0
            dim += 1
    return ellipsis_rank


def _check_ellipses(shapes, aligned, dims) -> None:
    """Raise RuntimeError where what the operands have in place of "..." does not broadcast; `_check_sizes` saw the letters."""
    for dim in dims:
        known = 1
        for sizes in aligned:
            if sizes[dim] != known and sizes[dim] != 1 and known != 1:
                raise RuntimeError(
                    "einsum(): operands do not broadcast with remapped shapes [original->remapped]:"
                    + "".join(
                        f" {list(shape)}->{list(remapped)}" for shape, remapped in zip(shapes, aligned, strict=True)
                    )
                )
            known = sizes[dim] if known == 1 else known


def _order(inputs, output, dots) -> tuple:
    """All labels, those of the output first; and which those are."""
    every = [label for labels in inputs for label in labels if label != _ELLIPSIS]
    if output is None:
        kept = dots + sorted(label for label in set(every) if every.count(label) == 1)
    else:
        for label in output:
            if label != _ELLIPSIS and label not in every:
                raise RuntimeError(
                    f"einsum(): output subscript {label} does not appear in the equation for any input operand"
                )
        kept = _expand(output, dots)
    summed = [label for label in dict.fromkeys([*every, *dots]) if label not in kept]
    return kept + summed, kept


def _expand(labels, dots) -> list:
    return [each for label in labels for each in (dots if label == _ELLIPSIS else [label])]


def _align(labels, shape, order, dots) -> tuple:
    """How an operand gets one dimension for each label of `order`, of size 1 where it has none; and those sizes."""
    if _ELLIPSIS in labels:
        rank = len(shape) - (len(labels) - 1)
        own = _expand(labels, dots[len(dots) - rank :])
    else:
        own = list(labels)
    sizes = dict(zip(own, shape))
    diagonals = []
    for label in dict.fromkeys(own):
        while own.count(label) > 1:
            first = own.index(label)
            second = own.index(label, first + 1)
            diagonals.append((first, second))
            del own[second]
    present = [own.index(label) for label in order if label in sizes]
    aligned = [sizes.get(label, 1) for label in order]
    moved = present != list(range(len(present)))
    return _Alignment(diagonals, present if moved else None, aligned if len(present) != len(order) else None), aligned


def _plan_product(a, b, done) -> tuple:
    """The product of two aligned tensors of sizes `a` and `b`, summed over the dimensions `done`; and its sizes."""
    # A dimension that only one of them has is summed before; the others make a batch of matrix products.
    only_a = [d for d in done if b[d] == 1 and a[d] != 1]
    only_b = [d for d in done if a[d] == 1 and b[d] != 1]
    a, b = _without(a, only_a), _without(b, only_b)
    dims = range(len(a))
    # The one with the first dimension that only one of them has gives the rows: the result is laid out in that order.
    own = next((d for d in dims if d not in done and (a[d] == 1) != (b[d] == 1)), None)
    swapped = own is not None and a[own] == 1
    if swapped:
        a, b = b, a
    inner = [d for d in done if a[d] != 1]
    sizes = [1 if d in inner else b[d] if a[d] == 1 else a[d] for d in dims]
    if not inner:
        return _Product(only_a, only_b, swapped, None), sizes
    batch = [d for d in dims if d not in inner and a[d] != 1 and b[d] != 1]
    rows = [d for d in dims if d not in inner and a[d] != 1 and b[d] == 1]
    columns = [d for d in dims if d not in inner and a[d] == 1]
    placed = batch + rows + columns + inner
    matrices = _Matrices(
        batch + rows + inner + columns,
        [_size(a, batch), _size(a, rows), _size(a, inner)],
        batch + inner + columns + rows,
        [_size(b, batch), _size(b, inner), _size(b, columns)],
        [sizes[d] for d in placed],
        [placed.index(d) for d in dims],
    )
    return _Product(only_a, only_b, swapped, matrices), sizes


def _without(sizes, summed) -> list:
    """The sizes after a sum over the dimensions `summed`, which are kept with size 1."""
    return [1 if d in summed else size for d, size in enumerate(sizes)]


def _size(sizes, dims) -> int:
    return prod(sizes[d] for d in dims)
