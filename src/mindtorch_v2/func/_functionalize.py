"""`functionalize`: a function without writes that does what a function with writes does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours import functional as _functionalize
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["functionalize"]

_REMOVALS = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function that computes what `func` does with no operator that writes to its inputs.

    Inside, each tensor is a value that nothing changes; a write makes a new value, and views of what was written are made
    anew. Arguments that `func` writes to are written once, at the end. `remove="mutations_and_views"` leaves no views
    either: operators such as `view` become `view_copy`.

    Gradients flow through, and the other transforms may be around it or inside. A tensor that `func` closes over may be
    read, not written. Raises RuntimeError for another `remove`, and where such a tensor is written.

    >>> import mindtorch_v2 as torch
    >>> def scaled(x):
    ...     y = x.clone()
    ...     y[0].mul_(10)
    ...     return y
    >>> torch.func.functionalize(scaled)(torch.ones(2))
    tensor([10.,  1.])
    """
    if remove not in _REMOVALS:
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators become their out-of-place equivalents.\n"
            "     remove='mutations_and_views': besides, all view operators become their copying equivalents."
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        with _functionalize.entered(reapply_views=remove == "mutations") as level:
            arguments = _functionalize.Arguments([x for x in leaves if isinstance(x, torch.Tensor)], level)
            given = [arguments.show(x) if isinstance(x, torch.Tensor) else x for x in leaves]
            shown_args, shown_kwargs = spec.unflatten(given)
            made, made_spec = pytree.tree_flatten(func(*shown_args, **shown_kwargs))
            results = [arguments.result(x) if isinstance(x, torch.Tensor) else x for x in made]
        arguments.write_back()
        return made_spec.unflatten(results)

    return functionalized
