"""`torch.export`: a program as a graph of operators that can be kept, changed and run without its Python code."""

from __future__ import annotations


from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2.export._archive import load, save
from mindtorch_v2.export._trace import export
from mindtorch_v2.export import _decompose  # it registers `run_decompositions`
from mindtorch_v2.export.decomp_utils import CustomDecompTable
from mindtorch_v2.export.dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from mindtorch_v2.export.exported_program import (
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    default_decompositions,
)
from mindtorch_v2.export.graph_signature import ExportBackwardSignature, ExportGraphSignature
from mindtorch_v2.export.unflatten import FlatArgsAdapter, UnflattenedModule, unflatten
from mindtorch_v2.utils import _pytree as pytree

__all__ = [
    "AdditionalInputs",
    "CustomDecompTable",
    "Dim",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "ShapesCollection",
    "UnflattenedModule",
    "default_decompositions",
    "dims",
    "draft_export",
    "export",
    "export_for_training",
    "load",
    "register_dataclass",
    "save",
    "unflatten",
]

draft_export = unavailable_function("torch.export.draft_export")
export_for_training = export


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Let instances of a dataclass be arguments and results of exported programs: their fields are the leaves.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: torch.Tensor
    ...     y: torch.Tensor
    >>> class Sum(torch.nn.Module):
    ...     def forward(self, point):
    ...         return point.x + point.y
    >>> torch.export.register_dataclass(Point)
    >>> program = torch.export.export(Sum(), (Point(torch.ones(2), torch.ones(2)),))
    >>> program.module()(Point(torch.tensor([1.0, 2.0]), torch.ones(2)))
    tensor([2., 3.])
    """
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
