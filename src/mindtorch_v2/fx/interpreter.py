"""`torch.fx.Interpreter` and `Transformer` by their names."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = ["Interpreter", "Transformer"]

Interpreter = unavailable_class("torch.fx.Interpreter")
Transformer = unavailable_class("torch.fx.Transformer", bases=(Interpreter,))
