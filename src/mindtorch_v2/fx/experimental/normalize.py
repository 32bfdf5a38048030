"""Graphs in which calls of one kind look alike: arguments by name, and operators rather than functions of the same meaning."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2.fx import Node, Transformer
from mindtorch_v2.fx.node import map_aggregate
from mindtorch_v2.fx.operator_schemas import create_type_hint, normalize_function, normalize_module

from .schema_type_annotation import AnnotateTypesWithSchema

__all__ = ["NormalizeArgs", "NormalizeOperators"]


class NormalizeArgs(Transformer):
    """Give every call of a function of torch, and of a module of `torch.nn`, its arguments by name, with the defaults.

    `normalize_to_only_use_kwargs=False` leaves those by place that are given so. Types that ShapeProp left
    choose between overloads. `transform()` is the new graph module; nodes keep their notes.

    >>> traced = fx.symbolic_trace(lambda x: torch.sub(x, 1))
    >>> sorted(list(NormalizeArgs(traced).transform().graph.nodes)[1].kwargs)
    ['alpha', 'input', 'other']
    """

    def __init__(self, module: fx.GraphModule, normalize_to_only_use_kwargs: bool = True) -> None:
        super().__init__(module)
        self.node_map: dict[fx.Proxy, Node] = {}
        self.normalize_to_only_use_kwargs = normalize_to_only_use_kwargs

    def run_node(self, n: Node) -> Any:
        args, kwargs = self.fetch_args_kwargs_from_env(n)

        def kind(value: Any) -> Any:
            return value.meta.get("type") if isinstance(value, Node) else type(value)

        if n.op == "call_function":
            arg_types = tuple(create_type_hint(each) for each in map_aggregate(n.args, kind))
            kwarg_types = {name: create_type_hint(map_aggregate(value, kind)) for name, value in n.kwargs.items()}
            made = self.call_function(n.target, args, kwargs, arg_types, kwarg_types)
        else:
            made = super().run_node(n)
        if n.op != "output":
            self.node_map[made] = n
            made.node.meta = n.meta
            made.node.type = n.type
        return made

    def call_function(
        self,
        target: Callable[..., Any] | str,
        args: Any,
        kwargs: Any,
        arg_types: tuple[Any, ...] | None = None,
        kwarg_types: dict[str, Any] | None = None,
    ) -> Any:
        if not callable(target):
            raise AssertionError(f"target must be callable, got {type(target)}")
        known = arg_types is not None and None not in arg_types and None not in (kwarg_types or {}).values()
        types = (arg_types, kwarg_types) if known else (None, None)
        found = normalize_function(target, args, kwargs, *types, self.normalize_to_only_use_kwargs)
        return super().call_function(target, *(found or (args, kwargs)))

    def call_module(self, target: Callable[..., Any] | str, args: Any, kwargs: Any) -> Any:
        if not isinstance(target, str):
            raise AssertionError(f"target must be a str, got {type(target)}")
        found = normalize_module(self.module, target, args, kwargs, self.normalize_to_only_use_kwargs)
        return super().call_module(target, *(found or (args, kwargs)))


class NormalizeOperators(AnnotateTypesWithSchema):
    """Call Python's operators in the place of functions of torch that mean the same: `x + y` for `torch.add(x, y)`.

    >>> traced = NormalizeOperators(fx.symbolic_trace(lambda x: torch.mul(x, 2))).transform()
    >>> list(traced.graph.nodes)[1].target is operator.mul
    True
    """

    binary_magic_method_remap: ClassVar[dict[Callable[..., Any], Callable[..., Any]]] = {
        torch.add: operator.add,
        torch.mul: operator.mul,
        torch.sub: operator.sub,
        torch.div: operator.truediv,
        torch.floor_divide: operator.floordiv,
        torch.remainder: operator.mod,
        torch.eq: operator.eq,
        torch.ne: operator.ne,
        torch.lt: operator.lt,
        torch.le: operator.le,
        torch.gt: operator.gt,
        torch.ge: operator.ge,
    }

    def call_function(self, target: Callable[..., Any] | str, args: Any, kwargs: Any) -> Any:
        if target in self.binary_magic_method_remap and len(args) == 2 and not kwargs:
            return super().call_function(self.binary_magic_method_remap[target], args, {})
        return super().call_function(target, args, kwargs)
