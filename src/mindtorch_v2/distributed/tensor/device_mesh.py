"""`torch.distributed.device_mesh` where some programs import it from; by its names."""

from mindtorch_v2.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
