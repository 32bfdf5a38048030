"""`torch.distributed.device_mesh` by its names: there are no process groups to lay a mesh over."""

from mindtorch_v2._unavailable import unavailable_function
from mindtorch_v2.distributed.tensor import DeviceMesh

__all__ = ["DeviceMesh", "init_device_mesh"]

init_device_mesh = unavailable_function("torch.distributed.device_mesh.init_device_mesh")
