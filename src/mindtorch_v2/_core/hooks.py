"""The handle of a hook: it takes the hook out of the dictionary that holds it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from typing import Any

__all__ = ["RemovableHandle"]


class RemovableHandle:
    """Remove one hook from the dictionary that holds it.

    The dictionary is held weakly: a handle never keeps a module alive. `extra_dict` (one dictionary or a list of
    them) holds flags filed under the same id, which go with the hook.

    >>> layer = torch.nn.ReLU()
    >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
    >>> layer(torch.tensor([1.0]))
    tensor([2.])
    >>> handle.remove()
    >>> layer(torch.tensor([1.0]))
    tensor([1.])
    """

    __module__ = "mindtorch_v2.utils.hooks"  # where pickles look for it

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        if isinstance(extra_dict, dict):
            extras = (extra_dict,)
        else:
            extras = tuple(extra_dict or ())
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)

    def remove(self) -> None:
        """Take the hook out; a second call, or one after the owner is gone, does nothing."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            holder = ref()
            if holder is not None:
                holder.pop(self.id, None)

    def __getstate__(self) -> tuple[Any, ...]:
        if not self.extra_dict_ref:
            return self.hooks_dict_ref(), self.id
        return self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        hooks, self.id = state[0], state[1]
        # A handle whose owner had died points at an empty dictionary of its own, as PyTorch's does.
        self.hooks_dict_ref = weakref.ref(OrderedDict() if hooks is None else hooks)
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        extras = state[2] if len(state) > 2 else ()
        self.extra_dict_ref = tuple(weakref.ref(OrderedDict() if extra is None else extra) for extra in extras)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        self.remove()
