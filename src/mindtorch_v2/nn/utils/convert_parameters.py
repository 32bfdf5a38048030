"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import mindtorch_v2 as torch


def _check_param_device(param, old_param_device) -> int:
    """The device (its index, -1 for the CPU) that all parameters must share; TypeError where they do not."""
    device = param.get_device() if param.is_cuda else -1
    if old_param_device is not None and device != old_param_device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return device


def parameters_to_vector(parameters: Iterable[torch.Tensor]) -> torch.Tensor:
    """All parameters, flattened, in one 1-D tensor.

    >>> torch.nn.utils.parameters_to_vector(torch.nn.Linear(2, 3).parameters()).shape
    torch.Size([9])
    """
    param_device = None
    vec = []
    for param in parameters:
        param_device = _check_param_device(param, param_device)
        vec.append(param.view(-1))
    return torch.cat(vec)


def vector_to_parameters(vec: torch.Tensor, parameters: Iterable[torch.Tensor]) -> None:
    """Make slices of the 1-D tensor `vec` the data of the parameters, in order.

    >>> layer = torch.nn.Linear(1, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([3.0, 4.0]), layer.parameters())
    >>> layer(torch.ones(1)).item()
    7.0
    """
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    param_device = None
    pointer = 0
    for param in parameters:
        param_device = _check_param_device(param, param_device)
        num_param = param.numel()
        param.data = vec[pointer : pointer + num_param].view_as(param).data
        pointer += num_param
