"""`parallelize_module`: a plan of styles, by the paths of submodules, applied to a module."""

from __future__ import annotations

import fnmatch
import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import device_mesh as meshes
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor.parallel.style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: torch.nn.Module,
    device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> torch.nn.Module:
    """Let the ranks of a mesh hold and compute a module together, in place; the module.

    Args:
        module: the module.
        device_mesh: a mesh of one dimension; the current one by default.
        parallelize_plan: a style for the module, or styles by the paths of submodules ("layers.*.attention.wq").
        src_data_rank: whose parameters count; None: each rank's own are cut as they are, nothing is sent.

    ValueError for a mesh of more dimensions, or a path that is empty; a warning for one that no submodule has.

    >>> from mindtorch_v2.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layer = parallelize_module(torch.nn.Linear(2, 4), mesh, ColwiseParallel())
    >>> layer.weight.placements, layer(torch.ones(1, 2)).shape
    ((Shard(dim=0),), torch.Size([1, 4]))
    >>> dist.destroy_process_group()
    """
    mesh = device_mesh or meshes._current_mesh()
    if mesh.ndim != 1:
        raise ValueError(f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D! slice it: mesh['tp']")
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        found = _at(module, path.split("."))
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching it was found, and it is left out.",
                stacklevel=2,
            )
        for each in found:
            parallelize_module(each, mesh, style, src_data_rank=src_data_rank)
    return module


def _at(module: torch.nn.Module, path: list[str]) -> list[Any]:
    """The submodules at a path, whose parts may be patterns."""
    if not path:
        return [module]
    first, *rest = path
    return [end for name, child in module.named_children() if fnmatch.fnmatch(name, first) for end in _at(child, rest)]
