"""The memory format of convolutions' weights."""

from __future__ import annotations

import mindtorch_v2 as torch


def _convert(module, memory_format, kinds):
    if isinstance(module, kinds):
        module.weight.data = module.weight.detach().clone(memory_format=memory_format)
    for child in module.children():
        _convert(child, memory_format, kinds)
    return module


def convert_conv2d_weight_memory_format(module: torch.nn.Module, memory_format: torch.memory_format) -> torch.nn.Module:
    """Give the weights of all 2-D convolutions in `module` the memory format; return the module.

    >>> layer = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(3, 8, 3), torch.channels_last)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last)
    True
    """
    return _convert(module, memory_format, (torch.nn.Conv2d, torch.nn.ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: torch.nn.Module, memory_format: torch.memory_format) -> torch.nn.Module:
    """Give the weights of all 3-D convolutions in `module` the memory format; return the module.

    >>> layer = torch.nn.utils.convert_conv3d_weight_memory_format(torch.nn.Conv3d(3, 8, 3), torch.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=torch.channels_last_3d)
    True
    """
    return _convert(module, memory_format, (torch.nn.Conv3d, torch.nn.ConvTranspose3d))
