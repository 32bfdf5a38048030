"""`scan`: a function that is called on one element after the other and hands on a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops.utils import check_same_form, scanned_first
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["scan"]


def scan(combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """`carry, y = combine_fn(carry, x)` for each x of `xs` along `dim`, from `init` on: the last carry, and all y, stacked.

    `init` and `xs` are tensors, or tensors in lists, tuples and dictionaries. `combine_fn` gives a carry of the form, shapes and
    dtypes of `init`, and tensors of any shape. `reverse=True` begins at the end; each y keeps the place of its x.

    Raises RuntimeError for arguments of other kinds and empty dimensions, `torch._dynamo.exc.UncapturedHigherOrderOpError` (a
    RuntimeError) for a carry of another form.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2._higher_order_ops.scan import scan
    >>> scan(lambda total, x: (total + x, total * x), torch.tensor(0), torch.arange(4))
    (tensor(6), tensor([0, 0, 2, 9]))
    """
    leaves, form = pytree.tree_flatten(xs)
    if not leaves:
        return init, []
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    start = pytree.tree_leaves(init)
    if not start:
        raise RuntimeError("scan() operator requires init leaves.")
    for name, each in (("init", start), ("xs", leaves)):
        for x in each:
            if not isinstance(x, torch.Tensor):
                raise RuntimeError(f"All {name} leaves must be a Tensor but got {x}")
    leaves, dim = scanned_first(leaves, dim, reverse, RuntimeError)
    carry, found = init, []
    for x in zip(*leaves):
        given, (carry, y) = carry, combine_fn(carry, pytree.tree_unflatten(x, form))
        check_same_form("scan", carry, given, "carry and init")
        found.append(y)
    forms = pytree.tree_flatten(found[0])[1]
    columns = zip(*(pytree.tree_leaves(y) for y in found))
    results = [torch.stack(column[::-1] if reverse else column) for column in columns]
    results = [each.movedim(0, dim) if dim < each.ndim else each for each in results]
    return carry, pytree.tree_unflatten(results, forms)
