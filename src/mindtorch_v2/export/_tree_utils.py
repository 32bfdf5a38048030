"""Trees of a program's inputs: whether two have one form, and named arguments in the order of another call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2.utils._pytree import TreeSpec

__all__ = ["is_equivalent", "reorder_kwargs"]


def reorder_kwargs(user_kwargs: dict[str, Any], spec: TreeSpec) -> dict[str, Any]:
    """The named arguments in the order of those that `spec`, of `(args, kwargs)`, was made of; ValueError for other names.

    >>> from mindtorch_v2.export._tree_utils import reorder_kwargs
    >>> from mindtorch_v2.utils._pytree import tree_structure
    >>> list(reorder_kwargs({"b": 1, "a": 2}, tree_structure(((), {"a": 3, "b": 4}))))
    ['a', 'b']
    """
    names = spec.children()[1].context
    if set(user_kwargs) != set(names):
        raise ValueError(
            f"Named arguments do not match those that were exported: got {list(user_kwargs)}, expected {list(names)}"
        )
    return {name: user_kwargs[name] for name in names}


def is_equivalent(
    spec1: TreeSpec, spec2: TreeSpec, equivalence_fn: Callable[[type | None, Any, type | None, Any], bool]
) -> bool:
    """Whether `equivalence_fn(type1, context1, type2, context2)` holds for all nodes of both, which have as many children.

    >>> from mindtorch_v2.export._tree_utils import is_equivalent
    >>> from mindtorch_v2.utils._pytree import tree_structure
    >>> is_equivalent(tree_structure([1, 2]), tree_structure((1, 2)), lambda a, x, b, y: x == y)
    True
    """
    if not equivalence_fn(spec1.type, spec1.context, spec2.type, spec2.context):
        return False
    first, second = spec1.children(), spec2.children()
    return len(first) == len(second) and all(
        is_equivalent(a, b, equivalence_fn) for a, b in zip(first, second, strict=True)
    )
