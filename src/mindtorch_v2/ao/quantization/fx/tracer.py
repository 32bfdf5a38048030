"""The tracer of models that will be quantized."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn.intrinsic import _FusedModule
from mindtorch_v2.fx import proxy
from mindtorch_v2.fx._symbolic_trace import Tracer
from mindtorch_v2.fx.proxy import Scope

__all__ = ["QuantizationTracer"]


class ScopeContextManager(proxy.ScopeContextManager):
    """Within the block, a scope says of which module the calls are.

    >>> from mindtorch_v2.ao.quantization.fx.tracer import ScopeContextManager
    >>> scope = torch.fx.proxy.Scope("", None)
    >>> with ScopeContextManager(scope, torch.nn.ReLU(), "act"):
    ...     print(scope.module_path)
    act
    """

    def __init__(self, scope: Scope, current_module: nn.Module, current_module_path: str) -> None:
        super().__init__(scope, Scope(current_module_path, type(current_module)))


class QuantizationTracer(Tracer):
    """A tracer that leaves whole what `torch.nn`, `torch.ao.nn`, given names and given classes have.

    >>> from mindtorch_v2.ao.quantization.fx.tracer import QuantizationTracer
    >>> graph = QuantizationTracer([], []).trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> [node.op for node in graph.nodes]
    ['placeholder', 'call_module', 'output']
    """

    def __init__(self, skipped_module_names: list[str], skipped_module_classes: list[Any]) -> None:
        super().__init__()
        self.skipped_module_names = skipped_module_names
        self.skipped_module_classes = skipped_module_classes
        self.scope = Scope("", None)
        self.record_stack_traces = True

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are recorded as they are."""
        return (
            super().is_leaf_module(m, module_qualified_name)
            or module_qualified_name in self.skipped_module_names
            or type(m) in self.skipped_module_classes
            or isinstance(m, _FusedModule)
        )
