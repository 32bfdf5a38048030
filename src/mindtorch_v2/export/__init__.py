"""`torch.export` by its names: programs are not captured here yet."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function
from mindtorch_v2.export.exported_program import ExportedProgram

__all__ = [
    "Dim",
    "ExportedProgram",
    "draft_export",
    "export",
    "export_for_training",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]

Dim = unavailable_class("torch.export.Dim")
draft_export = unavailable_function("torch.export.draft_export")
export = unavailable_function("torch.export.export")
export_for_training = unavailable_function("torch.export.export_for_training")
load = unavailable_function("torch.export.load")
register_dataclass = unavailable_function("torch.export.register_dataclass")
save = unavailable_function("torch.export.save")
unflatten = unavailable_function("torch.export.unflatten")
