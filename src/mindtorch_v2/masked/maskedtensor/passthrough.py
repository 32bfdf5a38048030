"""Operators that move elements: on data and mask alike."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .core import _get_data, _map_mt_args_kwargs, _maybe_get_mask, _wrap_result

__all__: list[str] = []

PASSTHROUGH_FNS = [
    getattr(torch.ops.aten, name)
    for name in (
        "select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat "
        "unsqueeze unfold unfold_backward im2col col2im stack unbind permute squeeze flip"
    ).split()
]


def _is_pass_through_fn(fn: Any) -> bool:
    return fn in PASSTHROUGH_FNS


def apply_to_both(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """MaskedTensors of what the operator makes of the data, and of the mask."""
    data, keywords = _map_mt_args_kwargs(args, kwargs, _get_data)
    masks, mask_keywords = _map_mt_args_kwargs(args, kwargs, _maybe_get_mask)
    if fn.__name__ in ("im2col", "col2im") or fn.__name__.endswith("_backward"):  # which move numbers only
        masks = [mask.to(data[0].dtype) if isinstance(mask, torch.Tensor) else mask for mask in masks]
        return _wrap_result(fn(*data, **keywords), fn(*masks, **mask_keywords).bool())
    return _wrap_result(fn(*data, **keywords), fn(*masks, **mask_keywords))
