"""Flattening along a given structure, as generated code does it with the arguments of a call."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.utils._pytree import TreeSpec


__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

_by_spec: dict = {}


def register_pytree_flatten_spec(
    cls: type | Callable[..., Any],
    flatten_fn_spec: Callable[..., Any],
    flatten_fn_exact_match_spec: Callable[..., Any] | None = None,
) -> None:
    """Take containers of class `cls` apart with `flatten_fn_spec(tree, spec)`, which gives the children."""
    _by_spec[cls] = flatten_fn_spec


def tree_flatten_spec(tree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of `tree`, which has the structure `spec`. Where that asks for fewer items than there are, the rest is left.

    Raises RuntimeError for a tree of a registered class that has another structure.

    >>> from mindtorch_v2.utils._pytree import tree_structure
    >>> tree_flatten_spec([1, {"a": 2}], tree_structure([0, {"a": 0}]))
    [1, 2]
    """
    if spec.is_leaf():
        return [tree]
    children = _by_spec.get(spec.type)
    if children is None:
        leaves, found = pytree.tree_flatten(tree)
        if found != spec:
            raise RuntimeError(f"Real spec {found} of object {tree} is different from expected spec {spec}. ")
        return leaves
    pairs = zip(children(tree, spec), spec.children())
    return [leaf for child, below in pairs for leaf in tree_flatten_spec(child, below)]


def _in_order(tree, spec) -> list:
    return [tree[place] for place in range(spec.num_children)]


for _kind in (list, tuple, namedtuple):
    register_pytree_flatten_spec(_kind, _in_order)
register_pytree_flatten_spec(dict, lambda tree, spec: [tree[key] for key in spec.context])
