"""Conversions of sizes that layers share, and the removal of a state dict's prefix."""

from __future__ import annotations

from typing import Any

from .._sizes import _list_with_default, _ntuple, _pair, _quadruple, _reverse_repeat_tuple, _single, _triple

__all__ = ["consume_prefix_in_state_dict_if_present"]

# Other modules, PyTorch's too, look for these here.
_SIZES = (_list_with_default, _ntuple, _pair, _quadruple, _reverse_repeat_tuple, _single, _triple)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove `prefix` from the names in `state_dict` and in its metadata, in place.

    >>> state = {"module.weight": 1, "module.bias": 2, "other": 3}
    >>> torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['bias', 'other', 'weight']
    """
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    if hasattr(state_dict, "_metadata"):
        for key in list(state_dict._metadata):
            if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
                state_dict._metadata[key[len(prefix) :]] = state_dict._metadata.pop(key)
