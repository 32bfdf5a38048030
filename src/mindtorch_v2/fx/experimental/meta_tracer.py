"""Symbolic tracing with example arguments on the meta device: sizes, dtypes and devices of values are known as the program asks."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import fx
from mindtorch_v2.fx.node import map_aggregate

__all__ = ["MetaAttribute", "MetaDeviceAttribute", "MetaProxy", "MetaTracer", "proxys_to_metas", "symbolic_trace"]

# Modules and functions with a rule of their own for tensors of the meta device, which programs may add to.
manual_meta_overrides: dict[Any, Callable[..., Any]] = {}
_MAKERS = (
    torch.arange,
    torch.zeros,
    torch.ones,
    torch.full_like,
    torch.eye,
)  # functions that may be given sizes of proxies


class MetaProxy(fx.Proxy):
    """A proxy that knows a tensor of the meta device like its value.

    >>> tracer = MetaTracer()
    >>> graph = tracer.trace(lambda x: x + x.dim(), {"x": torch.empty(2, 3, device="meta")})
    >>> list(graph.nodes)[1].args[1]
    2
    """

    _tensor_meta: Any = None

    def install_tensor_meta(self, tensor_meta: Any) -> None:
        """Say what the value is like."""
        self._tensor_meta = tensor_meta

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them, as numbers where they are known."""
        if self._tensor_meta is not None:
            return self._tensor_meta.size(*[dim] if dim is not None else [])
        return self.tracer.create_proxy("call_method", "size", (self, dim) if dim is not None else (self,), {})

    def dim(self) -> Any:
        """The number of dimensions."""
        if self._tensor_meta is not None:
            return self._tensor_meta.dim()
        return self.tracer.create_proxy("call_method", "dim", (self,), {})

    @property
    def shape(self) -> Any:
        """The sizes."""
        return self.size()

    @property
    def dtype(self) -> Any:
        """The dtype."""
        if self._tensor_meta is not None:
            return self._tensor_meta.dtype
        return self.tracer.create_proxy("call_function", builtins.getattr, (self, "dtype"), {})

    @property
    def device(self) -> Any:
        """The device, which is a value of the graph."""
        return MetaDeviceAttribute(self, "device")

    def __getattr__(self, k: str) -> Any:
        if k == "_tensor_meta":
            return self.__getattribute__(k)
        return MetaAttribute(self, k)


class MetaAttribute(MetaProxy):
    """An attribute of a proxy; its node is made when it is used, and if it is called that of a method.

    >>> graph = MetaTracer().trace(lambda x: x.real, {"x": torch.empty(2, device="meta")})
    >>> list(graph.nodes)[1].args[1]
    'real'
    """

    def __init__(self, root: Any, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Any = None

    @property
    def node(self) -> Any:  # type: ignore[override]  # (made when it is asked for)
        """The node that fetches the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class MetaDeviceAttribute(MetaAttribute):
    """The device of a proxy's value.

    >>> graph = MetaTracer().trace(lambda x: torch.ones(2, device=x.device), {"x": torch.empty(2, device="meta")})
    >>> [node.name for node in graph.nodes]
    ['x', 'getattr_1', 'ones', 'output']
    """


def proxys_to_metas(v: Any) -> Any:
    """A tensor like a proxy's value; `v` itself if it is none.

    >>> proxys_to_metas(3)
    3
    """
    if isinstance(v, MetaDeviceAttribute):
        return "meta"
    if isinstance(v, fx.Proxy):
        if not isinstance(v, MetaProxy):
            raise AssertionError(f"Expected MetaProxy but got {type(v)}")
        if v._tensor_meta is None:
            raise AssertionError("MetaProxy does not have an associated meta")
        return v._tensor_meta
    return v


class MetaTracer(fx.Tracer):
    """A tracer whose proxies are `MetaProxy`: each call is made once more on the meta device.

    >>> graph = MetaTracer().trace(lambda x: x * len(x.shape), {"x": torch.empty(2, 3, device="meta")})
    >>> list(graph.nodes)[1].args[1]
    2
    """

    allow_insert_stateless_mods: bool = True

    def create_proxy(
        self,
        kind: str,
        target: Callable[..., Any] | str,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Callable[..., Any] | None = None,
    ) -> Any:
        made = super().create_proxy(kind, target, args, kwargs, name, type_expr, proxy_factory_fn)
        if kind == "placeholder" and target in self.meta_args:
            made.install_tensor_meta(self.meta_args[target])
            return made
        try:
            known, named = (map_aggregate(each, proxys_to_metas) for each in (args, kwargs))
            made.install_tensor_meta(self._on_meta(kind, target, known, dict(named)))
        except Exception as error:  # noqa: BLE001  (the meta device lacks it: the value stays unknown)
            warnings.warn(f"Could not compute metadata for {kind} target {target}: {error}", stacklevel=2)
        return made

    def _on_meta(self, kind: str, target: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if kind == "call_function":
            if target in _MAKERS and "device" in kwargs:
                kwargs["device"] = "meta"
            return manual_meta_overrides.get(target, target)(*args, **kwargs)
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "call_module":
            module = self.root.get_submodule(target)
            rule = manual_meta_overrides.get(type(module))
            if rule is not None:
                return rule(module, *args, **kwargs)
            state = {n: t.to("meta") for n, t in (*module.named_parameters(), *module.named_buffers())}
            return torch.func.functional_call(module, state, args, kwargs)
        if kind == "get_attr":
            value: Any = self.root
            for part in target.split("."):
                value = getattr(value, part)
            if isinstance(value, torch.Tensor):
                return value.to(device="meta")
        return None

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self.orig_forward = forward
        return super().call_module(m, forward, args, kwargs)

    def proxy(self, node: fx.Node) -> MetaProxy:
        return MetaProxy(node, self)

    def trace(  # type: ignore[override]  # (with examples, as PyTorch's)
        self,
        root: torch.nn.Module | Callable[..., Any],
        meta_args: dict[str, torch.Tensor],
        concrete_args: dict[str, Any] | None = None,
    ) -> fx.Graph:
        """The graph of `root`; `meta_args` has a tensor of the meta device for parameters by their names."""
        if not isinstance(meta_args, dict):
            raise AssertionError(f"expected a dict of tensors by parameters' names, got {type(meta_args)}")
        self.meta_args = meta_args
        made = {function.__name__: function for function in _MAKERS}
        try:
            for name, function in made.items():
                setattr(torch, name, self._recorded_call(function))
            graph = super().trace(root, concrete_args)
        finally:
            for name, function in made.items():
                setattr(torch, name, function)
        graph._tracer_extras = {"meta_args": meta_args}
        return graph

    def _recorded_call(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that makes tensors, as a node where one of its arguments is a proxy."""

        def recorded(*args: Any, **kwargs: Any) -> Any:
            proxies = [each for each in (*args, *kwargs.values()) if isinstance(each, fx.Proxy)]
            if proxies:
                return self.create_proxy("call_function", function, args, kwargs)
            return function(*args, **kwargs)

        return recorded


def symbolic_trace(
    root: torch.nn.Module | Callable[..., Any],
    meta_args: dict[str, torch.Tensor] | None = None,
    concrete_args: dict[str, Any] | None = None,
) -> fx.GraphModule:
    """`torch.fx.symbolic_trace` with examples: sizes that the program asks of `meta_args` are numbers.

    >>> program = lambda x: x * 2 if x.shape[0] > 3 else x + 1
    >>> traced = symbolic_trace(program, meta_args={"x": torch.empty(5, device="meta")})
    >>> traced(torch.tensor([1.0]))
    tensor([2.])
    """
    tracer = MetaTracer()
    graph = tracer.trace(root, meta_args or {}, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return fx.GraphModule(tracer.root, graph, name)
