"""Shapes and dtypes of the values of a graph, noted as it runs once."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.fx.interpreter import Interpreter
from mindtorch_v2.fx.node import map_aggregate

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule
    from mindtorch_v2.fx.node import Node


__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(typing.NamedTuple):
    """The form of a tensor, without its elements.

    >>> from mindtorch_v2.fx.passes.shape_prop import ShapeProp
    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [node.meta["tensor_meta"].shape for node in traced.graph.nodes]
    [torch.Size([2, 3]), torch.Size([3]), torch.Size([3])]
    """

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: typing.Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    memory_format = None
    dense = result.layout is torch.strided
    if include_contiguity and dense:
        for each in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d):
            rank = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(each, result.dim())
            if result.dim() == rank and result.is_contiguous(memory_format=each):
                memory_format = each
                break
    stride = result.stride() if dense else ()
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, stride, memory_format, False, {})


class ShapeProp(Interpreter):
    """Run a GraphModule and leave in each node's `meta` "tensor_meta", a TensorMetadata or a tree of them, and "type".

    With a `fake_mode` it runs on fake tensors. RuntimeError that names the node where one fails.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(0))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (3,), (3,)]
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        try:
            if self.fake_mode is not None:
                with self.fake_mode:
                    result = super().run_node(n)
            else:
                result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def note(value: Any) -> float | TensorMetadata:
            nonlocal found
            if not isinstance(value, torch.Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        if self.fake_mode is not None:
            n.meta["val"] = result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run with these arguments; the result."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(a) if isinstance(a, torch.Tensor) else a for a in args)
        return super().run(*args)
