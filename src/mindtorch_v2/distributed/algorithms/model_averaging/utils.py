"""Averages of parameters over ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[torch.nn.Parameter], process_group: Any) -> None:
    """Replace parameters by their averages over a group, those of one dtype and device by one collective.

    >>> from mindtorch_v2.distributed.algorithms.model_averaging.utils import average_parameters
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> parameter = torch.nn.Parameter(torch.tensor([1.0, 3.0]))
    >>> average_parameters(iter([parameter]), dist.group.WORLD)
    >>> parameter.data
    tensor([1., 3.])
    >>> dist.destroy_process_group()
    """
    if torch.distributed.get_rank(process_group) < 0:
        return
    kinds: dict[Any, list[torch.Tensor]] = {}
    for parameter in params:
        kinds.setdefault((parameter.dtype, parameter.device), []).append(parameter.detach())
    for tensors in kinds.values():
        flat = torch.cat([each.reshape(-1) for each in tensors])
        flat /= torch.distributed.get_world_size(process_group)
        torch.distributed.all_reduce(flat, group=process_group)
        for tensor, part in zip(tensors, flat.split([each.numel() for each in tensors]), strict=True):
            tensor.copy_(part.view(tensor.shape))


def get_params_to_average(params: Iterable[Any]) -> list[torch.nn.Parameter]:
    """Those of parameters, or of an optimizer's groups, that have gradients. NotImplementedError for anything else.

    >>> from mindtorch_v2.distributed.algorithms.model_averaging.utils import get_params_to_average
    >>> layer = torch.nn.Linear(2, 1)
    >>> layer.bias.grad = torch.ones(1)
    >>> [parameter is layer.bias for parameter in get_params_to_average(layer.parameters())]
    [True]
    """
    found = []
    for each in params:
        if isinstance(each, torch.nn.Parameter):
            group = [each]
        elif isinstance(each, dict):
            group = each["params"]
        else:
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")
        found += [parameter for parameter in group if parameter.grad is not None]
    return found


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """`average_parameters` of those that have gradients, of parameters or of an optimizer's groups.

    >>> from mindtorch_v2.distributed.algorithms.model_averaging.utils import average_parameters_or_parameter_groups
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> optimizer = torch.optim.SGD(torch.nn.Linear(2, 1).parameters())
    >>> optimizer.param_groups[0]["params"][0].grad = torch.ones(1, 2)
    >>> average_parameters_or_parameter_groups(optimizer.param_groups, dist.group.WORLD)
    >>> optimizer.param_groups[0]["params"][0].shape
    torch.Size([1, 2])
    >>> dist.destroy_process_group()
    """
    average_parameters(get_params_to_average(params), process_group)
