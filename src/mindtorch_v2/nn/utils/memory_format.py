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
    """Gives the weights of all 2-D convolutions in `module` the memory format; returns the module."""
    return _convert(module, memory_format, (torch.nn.Conv2d, torch.nn.ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: torch.nn.Module, memory_format: torch.memory_format) -> torch.nn.Module:
    """Gives the weights of all 3-D convolutions in `module` the memory format; returns the module."""
    return _convert(module, memory_format, (torch.nn.Conv3d, torch.nn.ConvTranspose3d))
