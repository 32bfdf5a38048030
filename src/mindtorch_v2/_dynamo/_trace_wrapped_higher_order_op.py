"""`TransformGetItemToIndex`: indexing by scalar tensors under `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(torch.overrides.TorchFunctionMode):
    """Inside this context `x[i]`, `i` being scalar integer tensors, gathers instead of reading their values.

    Under `vmap` the values of such tensors cannot be read, they differ from row to row.
    """

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__getitem__:
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            if indices and all(isinstance(index, torch.Tensor) for index in indices):
                return torch.ops.aten.index(args[0], list(indices))
        return func(*args, **(kwargs or {}))
