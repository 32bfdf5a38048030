"""Replicas of a module on several devices, whose gradients come together in the module's own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import mindtorch_v2 as torch
from mindtorch_v2._utils import _get_device_index

from . import comm
from ._functions import Broadcast

if TYPE_CHECKING:
    from ..modules.module import Module

__all__ = ["replicate"]

T = TypeVar("T", bound="Module")


def _copies(
    tensors: Sequence[torch.Tensor], devices: list[int], detach: bool
) -> list[dict[torch.Tensor, torch.Tensor]]:
    """For each device the copies of the tensors: of an operator with a gradient, or without one."""
    if not tensors:
        return [{} for _ in devices]
    if detach:
        groups = comm.broadcast_coalesced(tensors, devices)
    else:
        flat = Broadcast.apply(devices, *tensors)
        groups = [flat[place : place + len(tensors)] for place in range(0, len(flat), len(tensors))]
    return [dict(zip(tensors, group, strict=True)) for group in groups]


def replicate(network: T, devices: Sequence[int | torch.device], detach: bool = False) -> list[T]:
    """A replica of `network` for each device; parameters of replicas are copies of the module's and hand gradients back to it.

    With `detach` they do not. The module's own tensors have to be on the first device: AssertionError for those of the host.

    >>> torch.nn.parallel.replicate(torch.nn.Linear(2, 2), [])
    []
    """
    places = [_get_device_index(each, True) for each in devices]
    if not places:
        return []
    params, buffers = list(network.parameters()), list(network.buffers())
    learned = [each for each in buffers if each.requires_grad and not detach]
    held = [each for each in buffers if not (each.requires_grad and not detach)]
    copies = [
        left | right
        for left, right in zip(_copies(params, places, detach), _copies(learned, places, detach), strict=True)
    ]
    with torch.no_grad():
        for known, more in zip(copies, _copies(held, places, True), strict=True):
            known.update(more)
    return [_replica(network, known) for known in copies]


def _replica(network: T, copies: dict[torch.Tensor, torch.Tensor]) -> T:
    """One replica, with the copies in place of the tensors of every module in it."""
    replicas = {module: module._replicate_for_data_parallel() for module in network.modules()}
    for module, replica in replicas.items():
        replica._former_parameters = {}
        for name, child in module._modules.items():
            replica._modules[name] = None if child is None else replicas[child]
        for name, parameter in module._parameters.items():
            if parameter is None:
                replica._parameters[name] = None
                continue
            setattr(replica, name, copies[parameter])
            replica._former_parameters[name] = copies[parameter]
        for name, buffer in module._buffers.items():
            replica._buffers[name] = None if buffer is None else copies[buffer]
    return replicas[network]
