"""Ways through nested state dictionaries: each value by its path, and the value at a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindtorch_v2 as torch

__all__ = ["get_element", "set_element", "traverse_state_dict"]

PATH_ITEM = str | int
OBJ_PATH = tuple[PATH_ITEM, ...]


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)


def traverse_state_dict(
    state_dict: Mapping[str, Any],
    visitor: Callable[[OBJ_PATH, Any], None],
    keep_traversing: Callable[[object], bool] = _is_tensor,
) -> None:
    """Call `visitor` with the path and the value of all that is not taken apart.

    Dictionaries are taken apart, and lists in which, at any depth, is a dictionary or what `keep_traversing` says yes to: tensors
    by default. Keys are words in the paths, places in lists are numbers.

    >>> from mindtorch_v2.distributed.checkpoint._traverse import traverse_state_dict
    >>> traverse_state_dict({"sizes": [2, 3], "layers": [torch.tensor(1)]}, lambda path, value: print(path, value))
    ('sizes',) [2, 3]
    ('layers', 0) tensor(1)
    """

    def apart(value: Any) -> bool:
        if isinstance(value, Mapping):
            return True
        return isinstance(value, list) and any(apart(each) or keep_traversing(each) for each in value)

    def visit(path: OBJ_PATH, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, each in value.items():
                visit((*path, str(key)), each)
        elif apart(value):
            for place, each in enumerate(value):
                visit((*path, place), each)
        else:
            visitor(path, value)

    visit((), state_dict)


def get_element(root: Mapping[str, Any], path: OBJ_PATH, default_value: Any = None) -> Any:
    """The value at a path of nested dictionaries and lists; `default_value` where there is none.

    >>> from mindtorch_v2.distributed.checkpoint._traverse import get_element
    >>> get_element({"layers": [{"weight": 5}]}, ("layers", 0, "weight"))
    5
    """
    here: Any = root
    for part in path:
        if isinstance(here, list):
            if not isinstance(part, int) or part >= len(here):
                return default_value
        elif not isinstance(here, Mapping) or part not in here:
            return default_value
        here = here[part]
    return here


def set_element(root: Any, path: OBJ_PATH, value: Any) -> None:
    """Put a value at a path of nested dictionaries and lists, making those that are missing.

    >>> from mindtorch_v2.distributed.checkpoint._traverse import set_element
    >>> root = {}
    >>> set_element(root, ("layers", 1, "weight"), 5)
    >>> root
    {'layers': [None, {'weight': 5}]}
    """
    here = root
    for part, following in zip(path, path[1:], strict=False):
        empty: Any = {} if isinstance(following, str) else []
        if isinstance(here, list):
            while len(here) <= part:  # type: ignore[operator]  # (a number, in a list)
                here.append(None)
            if here[part] is None:  # type: ignore[index]  # (nested dictionaries and lists)
                here[part] = empty  # type: ignore[index]  # (nested dictionaries and lists)
        elif part not in here:
            here[part] = empty
        here = here[part]
    last = path[-1]
    if isinstance(here, list):
        while len(here) <= last:  # type: ignore[operator]  # (a number, in a list)
            here.append(None)
    here[last] = value
