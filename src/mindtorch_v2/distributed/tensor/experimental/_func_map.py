"""`local_map`: a function of this rank's pieces as a function of distributed tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._api import DTensor
from mindtorch_v2.utils._pytree import tree_flatten, tree_unflatten

__all__ = ["local_map"]

Placements = Sequence[Any] | None


def local_map(
    func: Callable[..., Any] | None = None,
    out_placements: Any = None,
    in_placements: tuple[Placements, ...] | None = None,
    in_grad_placements: tuple[Placements, ...] | None = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """A function that takes `DTensor`, calls `func` on this rank's pieces, and makes `DTensor` of its results.

    Args:
        func: the function; without it a decorator is returned.
        out_placements: how the results lie, a list, or a tuple of lists for several; None for results that are no tensors.
        in_placements: how each argument has to lie; None: as it does. ValueError if one lies otherwise.
        in_grad_placements: how the gradient of each piece lies.
        device_mesh: the mesh; that of the arguments by default.
        redistribute_inputs: whether arguments that lie otherwise are moved.

    >>> from mindtorch_v2.distributed.tensor import Shard, ones
    >>> from mindtorch_v2.distributed.tensor.experimental import local_map
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> double = local_map(lambda piece: piece * 2, out_placements=[Shard(0)])
    >>> double(ones(2, device_mesh=mesh, placements=[Shard(0)])).full_tensor()
    tensor([2., 2.])
    >>> dist.destroy_process_group()
    """
    if func is None:
        return functools.partial(
            local_map,
            out_placements=out_placements,
            in_placements=in_placements,
            in_grad_placements=in_grad_placements,
            device_mesh=device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        values, tree = tree_flatten(args)
        if in_placements is not None and len(in_placements) != len(values):
            raise AssertionError(
                f"in_placements length {len(in_placements)} does not match the number of input args {len(values)}!"
            )
        mesh, given = device_mesh, []
        for place, value in enumerate(values):
            if isinstance(value, DTensor):
                mesh = mesh or value.device_mesh
                wanted = None if in_placements is None else in_placements[place]
                if in_placements is not None and wanted is None:
                    raise AssertionError(f"DTensor input {value} expects placements but received {wanted}!")
                if wanted is not None and tuple(wanted) != value.placements:
                    if not redistribute_inputs:
                        raise ValueError(
                            f"arg {value} in local_map has a mismatched placements: arg placements is {value.placements} but the "
                            f"input placements is {wanted}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                        )
                    value = value.redistribute(mesh, wanted)
                gradient = None if in_grad_placements is None else in_grad_placements[place]
                value = value.to_local(grad_placements=gradient)
            given.append(value)
        made = func(*tree_unflatten(given, tree), **kwargs)
        if mesh is None:
            return made
        results, form = tree_flatten(made)
        several = isinstance(out_placements, tuple) and len(results) > 1
        hows = list(out_placements) if several else [out_placements] * len(results)
        if isinstance(out_placements, tuple) and len(results) == 1 and len(hows) == 1 and _nested(out_placements):
            hows = list(out_placements)
        if len(hows) != len(results):
            raise AssertionError(
                f"local_map requires one PlacementType for each output value, got {len(hows)} out_placements but {len(results)} outputs."
            )
        wrapped = [
            DTensor.from_local(each, mesh, how, run_check=False)
            if isinstance(each, torch.Tensor) and how is not None
            else each
            for each, how in zip(results, hows, strict=True)
        ]
        return tree_unflatten(wrapped, form)

    return mapped


def _nested(placements: tuple) -> bool:
    """Whether placements are a tuple of lists, one for each result."""
    return bool(placements) and (placements[0] is None or isinstance(placements[0], list | tuple))
