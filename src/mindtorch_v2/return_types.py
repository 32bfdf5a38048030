"""The classes of named results, as `torch.return_types.max`: they are made with the operators that return them."""

from __future__ import annotations

from mindtorch_v2._operators.table.returns import RETURN_TYPES

_BY_NAME = {name: kind for (name, _), kind in RETURN_TYPES.items()}
globals().update(_BY_NAME)

__all__ = [
    "all_return_types",
    "pytree_register_structseq",
    *sorted(name for name in _BY_NAME if not name.startswith("_")),
]

all_return_types: list[type] = list(_BY_NAME.values())
"""The classes, each once."""


def pytree_register_structseq(cls: type) -> None:
    """Tell pytrees how tuples of a class with fields are taken apart: their items are leaves, found by their indices.

    Named results are known already.

    >>> import mindtorch_v2 as torch
    >>> pytree = torch.utils._pytree
    >>> pytree.tree_map(lambda x: x * 2, torch.return_types.max((1, 2)))
    torch.return_types.max(
    values=2,
    indices=4)
    """
    from mindtorch_v2.utils._pytree import SequenceKey, register_pytree_node

    register_pytree_node(
        cls,
        lambda value: (list(value), None),
        lambda values, context: cls(values),
        flatten_with_keys_fn=lambda value: ([(SequenceKey(i), each) for i, each in enumerate(value)], None),
    )
