"""The values of a graph, found by a run with fake tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from mindtorch_v2.fx.interpreter import Interpreter
from mindtorch_v2.fx.node import map_aggregate

if TYPE_CHECKING:
    from mindtorch_v2._operators.table.returns import ReturnType
    from mindtorch_v2.fx.node import Node


__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Run a GraphModule on fake tensors and leave each value in its node's `meta["val"]`; `mode` is a FakeTensorMode.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.sum(0))
    >>> FakeTensorProp(traced).propagate(torch.ones(2, 3))
    FakeTensor(..., size=(3,))
    """

    def __init__(self, module: torch.nn.Module, mode: Any = None) -> None:
        super().__init__(module)
        self._mode = FakeTensorMode() if mode is None else mode

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)

        def note(value: Any) -> Any:
            if isinstance(value, FakeTensor):
                return value.detach()
            if isinstance(value, torch.Tensor):
                return self._mode.from_tensor(value)
            return value if isinstance(value, (int, float, bool)) else None

        meta = map_aggregate(result, note)
        if meta is not None:
            n.meta["val"] = meta
        return result

    def propagate(self, *args: Any) -> torch.Tensor | ReturnType:
        """Run with fake tensors of these arguments; the result."""
        return self.propagate_dont_convert_inputs(
            *(self._mode.from_tensor(arg) if isinstance(arg, torch.Tensor) else arg for arg in args)
        )

    def propagate_dont_convert_inputs(self, *args: Any) -> torch.Tensor | ReturnType:
        """Run with these arguments, which are fake tensors already; the result."""
        with self._mode:
            return super().run(*args)
