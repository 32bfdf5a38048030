"""Compiling for inference, by torchair's names."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.ge.backend import get_npu_backend

__all__ = ["cache_compile", "set_dim_gears", "use_internal_format_weight"]

_FRACTAL_NZ = 29


def cache_compile(
    func: Callable[..., Any], *, config: Any = None, dynamic: bool = True, cache_dir: str | None = None,
    global_rank: int | None = None, tp_rank: int | None = None, pp_rank: int | None = None, **kwargs: Any,
) -> Callable[..., Any]:  # fmt: skip
    """`func` compiled by torchair's back end with this configuration.

    What is compiled is not kept on disk: it is made anew in each process, and a warning says so where `cache_dir` is given.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import torchair
    >>> callable(torchair.inference.cache_compile(torch.nn.Linear(2, 2).forward))
    True
    """
    if cache_dir is not None:
        warnings.warn("cache_compile(): graphs are not kept on disk, cache_dir has no effect", stacklevel=2)
    return torch.compile(func, backend=get_npu_backend(compiler_config=config, **kwargs))


def set_dim_gears(t: torch.Tensor, dim_gears: dict[int, list[int]]) -> None:
    """Say which sizes a dimension may have. Without effect: a graph is made for each combination of sizes that comes.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import torchair
    >>> torchair.inference.set_dim_gears(torch.ones(4, 2), {0: [4, 8]})
    >>> torchair.inference.set_dim_gears(torch.ones(4, 2), {2: [4, 8]})
    Traceback (most recent call last):
    ValueError: set_dim_gears(): the tensor has 2 dimensions, but a gear is for dimension 2
    """
    for dim in dim_gears:
        if not -t.dim() <= dim < t.dim():
            raise ValueError(f"set_dim_gears(): the tensor has {t.dim()} dimensions, but a gear is for dimension {dim}")


def use_internal_format_weight(model: torch.nn.Module) -> None:
    """Lay the 16-bit weights of linear layers on NPUs in FRACTAL_NZ, as the matrix unit reads them; others stay as they are.

    >>> import mindtorch_v2 as torch
    >>> from mindtorch_v2 import torchair
    >>> torchair.use_internal_format_weight(torch.nn.Linear(2, 2))
    """
    for layer in model.modules():
        if isinstance(layer, torch.nn.Linear) and layer.weight.device.type == "npu" and layer.weight.itemsize == 2:
            layer.weight.data = torch.ops.npu.npu_format_cast(layer.weight.data, _FRACTAL_NZ)
