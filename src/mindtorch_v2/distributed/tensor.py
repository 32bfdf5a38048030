"""`torch.distributed.tensor`, whose classes libraries ask for in `isinstance`: no tensor is distributed here."""

import mindtorch_v2 as torch
from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_tensor"]

DTensor = unavailable_class("torch.distributed.tensor.DTensor", bases=(torch.Tensor,))
DeviceMesh = unavailable_class("torch.distributed.tensor.DeviceMesh")
Placement = unavailable_class("torch.distributed.tensor.Placement")
Partial = unavailable_class("torch.distributed.tensor.Partial", bases=(Placement,))
Replicate = unavailable_class("torch.distributed.tensor.Replicate", bases=(Placement,))
Shard = unavailable_class("torch.distributed.tensor.Shard", bases=(Placement,))
distribute_tensor = unavailable_function("torch.distributed.tensor.distribute_tensor")
