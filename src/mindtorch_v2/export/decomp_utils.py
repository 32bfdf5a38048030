"""Tables of decompositions for `ExportedProgram.run_decompositions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp import core_aten_decompositions
from mindtorch_v2._library.utils import is_functional_schema
from mindtorch_v2._ops import OpOverload

__all__ = ["CustomDecompTable"]


class CustomDecompTable(dict[OpOverload, Callable[..., Any]]):
    """The operators that `run_decompositions` takes apart, each with the function that takes its place.

    It begins with those of aten that are not among the core ones. An operator that stands for itself is taken apart as it
    would be without a table; what is taken out of the table stays whole.

    >>> table = torch.export.default_decompositions()
    >>> torch.ops.aten.conv2d.default in table, torch.ops.aten.convolution.default in table
    (True, False)
    >>> program = torch.export.export(torch.nn.Linear(2, 3), (torch.ones(1, 2),))
    >>> def targets(program):
    ...     return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    >>> targets(program.run_decompositions(table))
    ['aten.permute.default', 'aten.addmm.default']
    >>> del table[torch.ops.aten.linear.default]
    >>> targets(program.run_decompositions(table))
    ['aten.linear.default']
    """

    def __init__(self) -> None:
        super().__init__()
        for handle in torch._C._all_operators():
            if handle.namespace != "aten" or handle.mutates or handle.is_view:
                continue
            op = getattr(getattr(torch.ops.aten, handle.name), handle.overload or "default")
            if torch.Tag.core not in op.tags and is_functional_schema(op._schema):
                self[op] = op
        self.update(
            (op, rule)
            for op, rule in core_aten_decompositions().items()
            if not op._schema.is_mutable  # programs come without writes
        )

    def copy(self) -> CustomDecompTable:
        """A table of its own with the same entries."""
        made = CustomDecompTable.__new__(CustomDecompTable)
        made.update(self)
        return made

    def materialize(self) -> dict[OpOverload, Callable[..., Any]]:
        """The entries as a plain dict."""
        return dict(self)


class OutOf:
    """The operators that stay whole with a table: those that it does not have."""

    def __init__(self, table: Mapping[Any, Callable[..., Any]]) -> None:
        self.table = table

    def __contains__(self, op: Any) -> bool:
        if not isinstance(op, OpOverload) or op in self.table:
            return False
        # Running statistics are written, which no schema of these says.
        return is_functional_schema(op._schema) and op.name() not in ("aten::batch_norm", "aten::instance_norm")
