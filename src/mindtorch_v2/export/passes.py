"""Changes of exported programs as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.export.exported_program import ExportedProgram

__all__ = ["move_to_device_pass"]


def move_to_device_pass(ep: ExportedProgram, location: torch.device | str | dict[str, str]) -> ExportedProgram:
    """Move a program to a device: its state, its examples, and what its graph makes on a device. It is changed in place.

    `location` is the new device, or a dict from devices to those that take their place; others stay.

    >>> from mindtorch_v2.export.passes import move_to_device_pass
    >>> program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
    >>> move_to_device_pass(program, "meta").state_dict["weight"].device
    device(type='meta')
    """

    def new(device: Any) -> str:
        return location.get(str(device), str(device)) if isinstance(location, dict) else str(location)

    def moved(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        there = value.to(new(value.device))
        return torch.nn.Parameter(there, value.requires_grad) if isinstance(value, torch.nn.Parameter) else there

    ep._state_dict.update({name: moved(each) for name, each in ep.state_dict.items()})
    ep._constants.update({name: moved(each) for name, each in ep.constants.items()})
    if ep.example_inputs is not None:
        ep._example_inputs = pytree.tree_map(moved, ep.example_inputs)
    for module in ep.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        for node in module.graph.nodes:
            if node.kwargs.get("device") is not None:
                node.kwargs = {**node.kwargs, "device": torch.device(new(node.kwargs["device"]))}
            if node.op == "call_function" and node.target is torch.ops.aten.to.device:
                node.args = (node.args[0], torch.device(new(node.args[1])), *node.args[2:])
            if "val" in node.meta:
                node.meta["val"] = pytree.tree_map(moved, node.meta["val"])
        module.recompile()
    return ep
