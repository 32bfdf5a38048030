"""torch.autograd.graph: hooks on saved tensors, edges, nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _C

Node = _C.Node


class saved_tensors_hooks:
    """Within this block tensors saved for backward go through ``pack_hook`` and come back through ``unpack_hook``."""

    def __init__(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        _C._pop_saved_tensors_default_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Tensors saved for backward wait in CPU memory."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> Any:
            return (tensor.device, tensor.cpu())

        def unpack(packed: Any) -> Any:
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


class disable_saved_tensors_hooks:
    """Within this block setting saved-tensor hooks raises RuntimeError with ``error_message``."""

    def __init__(self, error_message: str) -> None:
        self.message = error_message

    def __enter__(self) -> None:
        _C._disable_saved_tensors_hooks(self.message)

    def __exit__(self, *exc: object) -> None:
        _C._disable_saved_tensors_hooks(None)


class GradientEdge(NamedTuple):
    """Where a tensor's gradient flows in the graph."""

    node: Any
    output_nr: int


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge of ``tensor``; it must require grad."""
    edge = _C._gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge)


def increment_version(tensor: Any) -> None:
    """Count one in-place write that happened behind autograd's back."""
    for t in (tensor,) if isinstance(tensor, _C.TensorBase) else tensor:
        t._bump_version()
