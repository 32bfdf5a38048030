"""The containers in which a node keeps its arguments: a graph must hear of every change, so none is made in them."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.utils import _pytree as pytree

__all__ = ["immutable_dict", "immutable_list"]

_REMEDY = (
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n"
    "    node.args = new_args"
)


def _refuse(self, *args, **kwargs):
    raise TypeError(f"{type(self).__name__!r} object does not support mutation. {_REMEDY}")


class immutable_list(list):
    """A list that refuses to be changed (TypeError) and can be a key.

    >>> immutable_list([1, 2])
    [1, 2]
    """

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # (it does not change)
        return hash(tuple(self))

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self),)


class immutable_dict(dict):
    """A dict that refuses to be changed (TypeError) and can be a key if its values can.

    >>> immutable_dict({"a": 1})
    {'a': 1}
    """

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # (it does not change)
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple:
        return type(self), (tuple(self.items()),)


def _like(plain, kind) -> None:
    """Register `kind` as a tree node that is taken apart as `plain` is."""
    node: Any = pytree.SUPPORTED_NODES[plain]
    pytree.register_pytree_node(
        kind,
        lambda tree: node.flatten_fn(plain(tree)),
        lambda leaves, context: kind(node.unflatten_fn(leaves, context)),
        serialized_type_name=f"torch.fx.immutable_collections.{kind.__name__}",
        flatten_with_keys_fn=lambda tree: node.flatten_with_keys_fn(plain(tree)),
    )


_like(list, immutable_list)
_like(dict, immutable_dict)
