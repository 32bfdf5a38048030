"""`torch.fx.GraphModule` by its name."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = ["GraphModule"]

GraphModule = unavailable_class("torch.fx.GraphModule")
