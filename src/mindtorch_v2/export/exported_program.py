"""`ExportedProgram` by its name."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = ["ExportedProgram"]

ExportedProgram = unavailable_class("torch.export.ExportedProgram")
