"""`DataParallel`: one process, several devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import _get_device_index

from ..modules.module import Module
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


def _devices(device_ids):
    """The accelerator's devices that a module is replicated on; none without an accelerator."""
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        return []
    if device_ids is None:
        device_ids = range(torch.accelerator.device_count())
    return [torch.device(kind.type, _get_device_index(each, True)) for each in device_ids]


def _call(module, inputs, module_kwargs, devices, output_device, dim):
    """The module's outputs on its first device: of replicas, each with a part of the inputs, if there are several."""
    indices = [device.index for device in devices]
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.device != devices[0]:
            raise RuntimeError(
                f"module must have its parameters and buffers on device {devices[0]} (device_ids[0]) but found "
                f"one of them on device: {tensor.device}"
            )
    parts, kwargs = scatter_kwargs(inputs, module_kwargs, indices, dim)
    if not parts and not kwargs:  # a module without inputs is called once
        parts, kwargs = ((),), ({},)
    if len(indices) == 1:
        return module(*parts[0], **kwargs[0])
    used = indices[: len(parts)]
    replicas = replicate(module, used, not torch.is_grad_enabled())
    return gather(parallel_apply(replicas, parts, kwargs, used), output_device, dim)


class DataParallel(Module):
    """A module called on parts of its inputs, each on a device of its own.

    Without an accelerator it calls `module` as it is, as PyTorch's does. On one device it moves the inputs there; on several it
    cuts them along `dim`, calls a replica on each device and joins the outputs on `output_device`, the first by default.

    >>> torch.nn.DataParallel(torch.nn.Linear(2, 3))(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: int | torch.device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        devices = _devices(device_ids)
        self.device_ids = [device.index for device in devices]
        if not devices:
            return
        self.output_device = devices[0].index if output_device is None else output_device
        self.src_device_obj = devices[0]
        self.module.to(self.src_device_obj)

    def forward(self, *inputs: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        devices = [torch.device(self.src_device_obj.type, each) for each in self.device_ids]
        return _call(self.module, inputs, kwargs, devices, self.output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[int | torch.device] | None = None,
    output_device: int | torch.device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """`module` called once as `DataParallel` would call it.

    >>> torch.nn.parallel.data_parallel(torch.nn.ReLU(), torch.tensor([[-1.0], [2.0]]), device_ids=[])
    tensor([[0.],
            [2.]])
    """
    if not isinstance(inputs, tuple):
        inputs = () if inputs is None else (inputs,)
    devices = _devices(device_ids)
    if not devices:
        return module(*inputs, **(module_kwargs or {}))
    return _call(module, inputs, module_kwargs, devices, devices[0] if output_device is None else output_device, dim)
