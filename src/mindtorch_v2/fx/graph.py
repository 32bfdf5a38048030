"""`torch.fx.Graph` by its name."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = ["CodeGen", "Graph", "PythonCode"]

CodeGen = unavailable_class("torch.fx.graph.CodeGen")
Graph = unavailable_class("torch.fx.Graph")
PythonCode = unavailable_class("torch.fx.graph.PythonCode")
