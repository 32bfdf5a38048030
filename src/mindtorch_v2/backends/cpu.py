"""`torch.backends.cpu`."""

from mindtorch_v2._core.processor import get_cpu_capability

__all__ = ["get_cpu_capability"]
