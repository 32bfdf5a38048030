"""`torch.compile(..., backend="ge")`. The registry of back ends imports this when the name is asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._dynamo.backends.registry import register_backend
from .backend import Backend


@functools.cache
def _backend() -> Backend:
    return Backend()


@register_backend
def ge(graph_module: Any, example_inputs: Any, **kwargs: Any) -> Callable[..., Any]:
    """GE graphs on the NPU with the settings that `torchair.get_npu_backend()` has. TypeError for options."""
    if kwargs:
        raise TypeError(f"the backend 'ge' takes no options, got {sorted(kwargs)}; see torchair.get_npu_backend")
    return _backend()(graph_module, example_inputs)
