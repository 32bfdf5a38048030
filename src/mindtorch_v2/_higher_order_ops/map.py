"""A function of slices, over the first dimension of tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops.operators import map_impl
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["map", "map_impl"]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """``f(x, *args)`` for each slice ``x`` of `xs` along its first dimension, stacked along a first dimension.

    `xs` is a tensor, or tensors of the same first size in lists, tuples and dictionaries; so is what `f` gives. Raises
    RuntimeError where there is no slice, or where the first sizes differ.

    >>> from mindtorch_v2._higher_order_ops.map import map
    >>> map(lambda x, y: x.sum() * y, torch.ones(3, 2), torch.tensor(2.0))
    tensor([4., 4., 4.])
    """
    leaves, spec = pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {[type(leaf) for leaf in leaves]}.")
    sizes = [leaf.shape[0] if leaf.dim() else None for leaf in leaves]
    if any(size != sizes[0] for size in sizes) or not sizes[0]:
        raise RuntimeError(
            f"Leading dimensions of mapped xs must be consistent. Got shapes {[x.shape for x in leaves]}."
        )
    values, form = pytree.tree_flatten(args)
    specs: list[Any] = []

    def of_leaves(*given: Any) -> list[Any]:
        x, rest = given[: len(leaves)], given[len(leaves) :]
        found, made = pytree.tree_flatten(f(pytree.tree_unflatten(x, spec), *pytree.tree_unflatten(rest, form)))
        specs.append(made)
        return found

    return pytree.tree_unflatten(map_impl(of_leaves, tuple(leaves), tuple(values)), specs[0])
