"""`associative_scan`: all partial results of an associative function, in a number of steps that grows with the logarithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._higher_order_ops.utils import scanned_first
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["associative_scan"]


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """The results `x[0]`, `combine_fn(x[0], x[1])`, `combine_fn(combine_fn(x[0], x[1]), x[2])` ... along `dim`.

    `xs` is a tensor, or tensors in lists, tuples and dictionaries, of equal length along `dim`; the results have its form.
    `combine_fn(a, b)` takes two elements of that form, without `dim`, and gives one; it must be associative, since pairs are
    combined before their neighbours are. `reverse=True` begins at the end. `combine_mode="generic"` is the only one for tensors
    of the CPU and of NPUs: "pointwise" is what PyTorch compiles for other devices.

    Raises ValueError for arguments of other kinds, empty dimensions and the mode "pointwise".

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2._higher_order_ops.associative_scan import associative_scan
    >>> associative_scan(torch.mul, torch.tensor([1, 2, 3, 4]), 0, combine_mode="generic")
    tensor([ 1,  2,  6, 24])
    """
    leaves, form = pytree.tree_flatten(xs)
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        raise ValueError("xs leaves must be a Tensor")
    if any(x.is_sparse for x in leaves):
        raise ValueError("xs leaves must dense Tensors, consider using `to_dense()`")
    if combine_mode == "pointwise":
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")
    leaves, dim = scanned_first(leaves, dim, reverse, ValueError)
    combine_all = torch.vmap(combine_fn)

    def combine(first: Sequence[torch.Tensor], second: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        given = (pytree.tree_unflatten(each, form) for each in (first, second))
        return pytree.tree_leaves(combine_all(*given))

    results = _scan(combine, leaves)
    if reverse:
        results = [each.flip(0) for each in results]
    return pytree.tree_unflatten([each.movedim(0, dim) for each in results], form)


def _scan(combine, leaves):
    length = len(leaves[0])
    if length == 1:
        return leaves
    # Pairs of neighbours, scanned, are the results at odd places; each of them and its next element gives an even one.
    odd = _scan(combine, combine([x[: length - 1 : 2] for x in leaves], [x[1::2] for x in leaves]))
    even = [x[:1] for x in leaves]
    if length > 2:
        rest = combine([each[: (length - 1) // 2] for each in odd], [x[2::2] for x in leaves])
        even = [torch.cat(each) for each in zip(even, rest)]
    return [_interleave(*each) for each in zip(even, odd)]


def _interleave(even, odd):
    pairs = torch.stack((even[: len(odd)], odd), 1).flatten(0, 1)
    return pairs if len(even) == len(odd) else torch.cat((pairs, even[-1:]))
