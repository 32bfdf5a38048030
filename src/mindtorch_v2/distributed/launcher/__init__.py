"""`torch.distributed.launcher`: the launcher as a class."""

from mindtorch_v2.distributed.launcher.api import LaunchConfig, elastic_launch

__all__ = ["LaunchConfig", "elastic_launch"]
