"""Questions about operators and inputs of exported programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _C
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    import mindtorch_v2 as torch
    from mindtorch_v2.export import ExportedProgram
    from mindtorch_v2.fx import Node

__all__: list[str] = []


def _is_cia_op(op: Any) -> bool:
    """Whether an overload is a composition that autograd sees through (CompositeImplicitAutograd)."""
    return bool(_C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd"))


def is_param(program: ExportedProgram, node: Node) -> bool:
    """Whether a placeholder is a parameter."""
    return node.name in program.graph_signature.inputs_to_parameters


def get_param(program: ExportedProgram, node: Node) -> torch.nn.Parameter | None:
    """The parameter that a placeholder is; None if it is none."""
    return (
        program.state_dict[program.graph_signature.inputs_to_parameters[node.name]] if is_param(program, node) else None
    )


def is_buffer(program: ExportedProgram, node: Node) -> bool:
    """Whether a placeholder is a buffer."""
    return node.name in program.graph_signature.inputs_to_buffers


def get_buffer(program: ExportedProgram, node: Node) -> torch.Tensor | None:
    """The buffer that a placeholder is; None if it is none."""
    return program.value_of(program.graph_signature.inputs_to_buffers[node.name]) if is_buffer(program, node) else None


def register_dataclass_as_pytree_node(
    cls: type, *functions: Any, serialized_type_name: str | None = None, **options: Any
) -> None:
    """`torch.export.register_dataclass`, under an older name; NotImplementedError for functions of one's own."""
    if functions or any(option is not None and option is not False for option in options.values()):
        raise NotImplementedError(
            "register_dataclass_as_pytree_node() with functions of its own is not implemented in mindtorch_v2; "
            "torch.utils._pytree.register_pytree_node takes them"
        )
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)
