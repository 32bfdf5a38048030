"""`DataParallel`: one process, several devices; here at most one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from ..modules.module import Module

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = ["DataParallel", "data_parallel"]


def _devices(device_ids):
    """The accelerators that a module would be replicated on. NotImplementedError for more than one."""
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        return []
    if device_ids is None:
        device_ids = range(torch.accelerator.device_count())
    devices = [torch.device(kind.type, each) if isinstance(each, int) else torch.device(each) for each in device_ids]
    if len(devices) > 1:
        raise NotImplementedError(
            f"nn.DataParallel on {len(devices)} devices is not implemented: give one of them by device_ids=[0]"
        )
    return devices


def moved(value: Any, device: Device) -> Any:
    """The arguments that `forward` gets, with its tensors on the device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(item, device) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(moved(item, device) for item in value)
    if isinstance(value, dict):
        return type(value)((name, moved(item, device)) for name, item in value.items())
    return value


class DataParallel(Module):
    """A module whose inputs are brought to its device.

    Without an accelerator it calls `module` as it is, as PyTorch's does; on one device it moves the inputs there. Several
    devices raise NotImplementedError.

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
        for tensor in (*self.module.parameters(), *self.module.buffers()):
            if tensor.device != self.src_device_obj:
                raise RuntimeError(
                    f"module must have its parameters and buffers on device {self.src_device_obj} (device_ids[0]) but found "
                    f"one of them on device: {tensor.device}"
                )
        return self.module(*moved(inputs, self.src_device_obj), **moved(kwargs, self.src_device_obj))


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
    if devices:
        inputs, module_kwargs = moved(inputs, devices[0]), moved(module_kwargs, devices[0])
    return module(*inputs, **(module_kwargs or {}))
