"""`torch_npu.utils._dynamo_device`: the NPU as compilers ask about it."""

from mindtorch_v2._dynamo.device_interface import NpuInterface

__all__ = ["NpuInterface"]
