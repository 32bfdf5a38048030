"""Types of the values of a graph, from the schemas and annotations of what is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx import Transformer
from mindtorch_v2.fx.operator_schemas import get_signature_for_torch_op

__all__ = ["AnnotateTypesWithSchema"]


class AnnotateTypesWithSchema(Transformer):
    """Give the nodes of a graph types: of functions that `forward`'s and operators' signatures say, and of parameters.

    `transform()` is the new graph module.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> list(AnnotateTypesWithSchema(traced).transform().graph.nodes)[1].type is torch.Tensor
    True
    """

    def __init__(
        self,
        module: torch.nn.Module,
        annotate_functionals: bool = True,
        annotate_modules: bool = True,
        annotate_get_attrs: bool = True,
    ) -> None:
        super().__init__(module)
        self.annotate_functionals = annotate_functionals
        self.annotate_modules = annotate_modules
        self.annotate_get_attrs = annotate_get_attrs

    def call_function(self, target: Callable[..., Any] | str, args: Any, kwargs: Any) -> Any:
        made = super().call_function(target, args, kwargs)
        if self.annotate_functionals:
            made.node.type = made.node.type or self._extract_python_return_type(target)
        return made

    def call_module(self, target: Callable[..., Any] | str, args: Any, kwargs: Any) -> Any:
        made = super().call_module(target, args, kwargs)
        if self.annotate_modules:
            module = self.fetch_attr(str(target))
            if type(module).__name__ in dir(torch.nn):
                made.node.type = made.node.type or self._extract_python_return_type(module.forward)
        return made

    def get_attr(self, target: Callable[..., Any] | str, args: Any, kwargs: Any) -> Any:
        made = super().get_attr(target, args, kwargs)
        if self.annotate_get_attrs:
            value = self.fetch_attr(str(target))
            for kind in (torch.nn.Module, torch.Tensor):
                if isinstance(value, kind):
                    made.node.type = kind
        return made

    def _extract_python_return_type(self, target: Any) -> Any:
        """The type that what is called gives, or None where that depends on the call or is not said."""
        found = get_signature_for_torch_op(target)
        if found:
            types = {repr(signature.return_annotation): signature.return_annotation for signature in found}
            return next(iter(types.values())) if len(types) == 1 else None
        try:
            said = inspect.signature(inspect.unwrap(target), eval_str=True).return_annotation
        except (ValueError, TypeError, NameError):
            return None
        return None if said is inspect.Signature.empty else said
