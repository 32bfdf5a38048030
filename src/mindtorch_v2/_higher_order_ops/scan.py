"""`scan`: a function that is called on one element after the other and hands on a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops.operators import scan_op
from mindtorch_v2._higher_order_ops.utils import check_same_form, scanned_first
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["scan", "scan_op"]


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
    carry_form = pytree.tree_structure(init)
    forms: list[Any] = []

    def of_leaves(*given: Any) -> list[Any]:
        carry = pytree.tree_unflatten(given[: len(start)], carry_form)
        found, y = combine_fn(carry, pytree.tree_unflatten(given[len(start) :], form))
        check_same_form("scan", found, carry, "carry and init")
        made, spec = pytree.tree_flatten(y)
        forms.append(spec)
        return [*pytree.tree_leaves(found), *made]

    results = scan_op(of_leaves, tuple(start), tuple(leaves), ())
    carry, ys = results[: len(start)], results[len(start) :]
    ys = [each.flip(0) if reverse else each for each in ys]
    ys = [each.movedim(0, dim) if dim < each.ndim else each for each in ys]
    return pytree.tree_unflatten(carry, carry_form), pytree.tree_unflatten(ys, forms[0])
