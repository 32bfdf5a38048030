"""Making a module without initializing it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.nn.modules.linear import Linear


def skip_init(module_cls: type[Linear], *args: Any, **kwargs: Any) -> torch.nn.Module:
    """An instance of `module_cls` whose parameters and buffers are allocated and not initialized.

    The class's parameters must be made on the `device` that its `__init__` takes.

    >>> torch.nn.utils.skip_init(torch.nn.Linear, 3, 8)
    Linear(in_features=3, out_features=8, bias=True)
    """
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final_device = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=final_device)
