"""Symbolic tracing: a function or module is run once with proxies for its inputs, and what it does is recorded."""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import functools
import inspect
import math
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.annotations import read_annotations, read_signature
from mindtorch_v2.utils import _pytree as pytree

from ._codegen import PyTreeCodeGen, PyTreeInfo
from ._naming import torch_name
from .graph import Graph
from .graph_module import GraphModule, register_tracer
from .node import BASE_TYPES, map_aggregate
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_symbolic_tracing",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

_state = types.SimpleNamespace(tracing=False)
_proxyable_classes: dict = {}
# What a graph's root holds as an attribute -> how its name begins.
_KEPT = {
    torch.Tensor: "_tensor_constant",
    pytree.TreeSpec: "_tree_spec_constant",
    _C.CompiledObject: "_torchbind_obj",
}
_wrapped_methods_to_patch: list[tuple[type, str]] = []  # methods that are leaves: the class, and the name
_wrapped_functions: dict = {}  # (identity of the globals, name) -> the globals: functions that users have marked as leaves
_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def is_fx_tracing() -> bool:
    """Whether a symbolic trace is running."""
    return _state.tracing


def is_fx_symbolic_tracing() -> bool:
    """Whether a symbolic trace, and no compiler, is running."""
    return _state.tracing and not torch.compiler.is_compiling()


class ProxyableClassMeta(type):
    """The metaclass of classes whose construction from proxies is recorded as a call.

    >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
    ...     def __init__(self, x, y):
    ...         self.x, self.y = x, y
    >>> def f(x):
    ...     return Pair(x, x + 1).y
    >>> [node.op for node in torch.fx.symbolic_trace(f).graph.nodes]
    ['placeholder', 'call_function', 'call_function', 'call_function', 'output']
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs) if is_fx_tracing() else None
        if proxy is not None:
            return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
        kind: Any = cls
        made = kind.__new__(kind)
        kind.__init__(made, *args, **kwargs)
        return made


class PHBase:
    """In `concrete_args`, marks an input that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """An input that stays an input; its attributes go to the node."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key


def _hand_attributes(mark, node) -> None:
    for name in dir(mark):
        value = getattr(mark, name)
        if not name.startswith("__") and not callable(value) and not hasattr(node, name):
            setattr(node, name, value)


def _find_proxy(*objects):
    found = []
    map_aggregate(objects, lambda each: found.append(each) if isinstance(each, Proxy) else None)
    return found[-1] if found else None


def _with_positional_parameters(function, count):
    """The function with `count` plain parameters: variadic ones get the proxies that stand for them as they are."""
    code = function.__code__
    code = code.replace(
        co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=code.co_flags & ~_VARIADIC
    )
    return types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )


class _Patches:
    """Replacements in namespaces and classes, undone in reverse."""

    def __init__(self) -> None:
        self._undo: list[Any] = []
        self._seen: set[Any] = set()

    def item(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        if (id(namespace), name) in self._seen:
            return
        self._seen.add((id(namespace), name))
        if name in namespace:
            self._undo.append(functools.partial(namespace.__setitem__, name, namespace[name]))
        else:  # a builtin: it is hidden
            self._undo.append(functools.partial(namespace.__delitem__, name))
        namespace[name] = value

    def attribute(self, owner: type, name: str, value: Any) -> None:
        self._undo.append(functools.partial(setattr, owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def leaves(self, namespace: dict[str, Any], identities: set[int]) -> None:
        """Make leaves of those functions of a namespace."""
        if ("leaves", id(namespace)) in self._seen:
            return
        self._seen.add(("leaves", id(namespace)))
        for name, value in [*namespace.items()]:
            if not name.startswith("_") and callable(value) and id(value) in identities:
                self.item(namespace, name, _as_leaf(value))

    def undo(self) -> None:
        while self._undo:
            self._undo.pop()()
        self._seen.clear()


def _as_leaf(function):
    @functools.wraps(function)
    def leaf(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        result = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        result.node.meta["is_wrapped"] = True
        return result

    return leaf


def _as_leaf_method(owner: type, name: str) -> Callable[..., Any]:
    method = getattr(owner, name)

    @functools.wraps(method)
    def leaf(*args: Any, **kwargs: Any) -> Any:
        proxy = _find_proxy(args, kwargs)
        return (
            method(*args, **kwargs) if proxy is None else proxy.tracer.create_proxy("call_method", name, args, kwargs)
        )

    return leaf


class Tracer(TracerBase):
    """Record what a module or function does; `trace` gives the graph. A subclass may override any of its steps.

    `autowrap_modules` and `autowrap_functions` are recorded as calls rather than run (those of `math` are).
    `param_shapes_constant` gives the shapes of parameters as numbers.

    >>> class Whole(torch.fx.Tracer):
    ...     def is_leaf_module(self, module, path):
    ...         return False
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> [node.op for node in Whole().trace(model).nodes]
    ['placeholder', 'get_attr', 'get_attr', 'call_function', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: Sequence[ModuleType] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | set(map(id, autowrap_functions))
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Any, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack: collections.OrderedDict[Any, Any] = collections.OrderedDict()
        self.num_calls: dict[Any, Any] = {}
        self.node_name_to_scope: dict[Any, Any] = {}

    # ---- arguments ----

    def get_fresh_qualname(self, prefix: str) -> str:
        """The prefix with the first number under which the root has no attribute yet."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a: Any) -> Any:
        """As in the base; parameters, buffers and modules become `get_attr` nodes, other tensors constants of the root.

        NameError for a parameter that the root does not have.
        """
        members = None
        if isinstance(a, torch.nn.Parameter):
            members = self.root.named_parameters()
        elif isinstance(a, torch.Tensor):
            members = self.root.named_buffers()
        elif isinstance(a, torch.nn.Module):
            members = self.root.named_modules()
        for path, value in members or ():
            if value is a:
                return self.create_node("get_attr", path, (), {})
        if isinstance(a, torch.nn.Parameter):
            raise NameError("parameter is not a member of this module")
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return self.create_node("call_function", type(a), tuple(self.create_arg(each) for each in a), {})
        if isinstance(a, (torch.Tensor, pytree.TreeSpec, _C.CompiledObject)):
            path = self.tensor_attrs.get(id(a))
            if path is None:
                path = self._keep(a, next(prefix for kind, prefix in _KEPT.items() if isinstance(a, kind)))
                self.tensor_attrs[id(a)] = path
            return self.create_node("get_attr", path, (), {})
        if type(a) in _proxyable_classes:
            return self.create_node("get_attr", self._keep(a, f"_{type(a).__name__}_constant_"), (), {})
        return super().create_arg(a)

    def _keep(self, value, prefix) -> str:
        name = self.get_fresh_qualname(prefix)
        setattr(self.root, name, value)
        return name

    # ---- modules ----

    def is_leaf_module(self, m: torch.nn.Module, module_qualified_name: str) -> bool:
        """Whether calls of a module are recorded as they are: those of `torch.nn` but Sequential are."""
        module = torch_name(type(m).__module__)
        return module.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(m, torch.nn.Sequential)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        """The dotted path of a module of the root; NameError if it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
        else:
            path = next((name for name, each in self.root.named_modules() if each is mod), None)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Proxy:
        """Result of a call of a module: a `call_module` node for a leaf, else what `forward(*args, **kwargs)` gives."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            key = f"{path}@{calls}" if calls else path
            self.module_stack[key] = (path, scope.module_type)
            self.num_calls[path] = calls + 1
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                del self.module_stack[key]

    def getattr(
        self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]
    ) -> torch.Tensor | ParameterProxy | torch.nn.Module:
        """Value of `module.attr`: a proxy for a parameter of the root (for buffers too if so asked), else the value."""
        if isinstance(attr_val, torch.nn.Parameter):
            members = self.root.named_parameters()
        elif self.proxy_buffer_attributes and isinstance(attr_val, torch.Tensor):
            members = self.root.named_buffers()
        else:
            return attr_val
        path = next((name for name, value in members if value is attr_val), None)
        if path is None:
            return attr_val
        if path not in parameter_proxy_cache:
            options: dict[str, Any] = {}
            if self.param_shapes_constant and isinstance(attr_val, torch.nn.Parameter):
                options["proxy_factory_fn"] = lambda node: ParameterProxy(self, node, path, attr_val)
            parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {}, **options)
        return parameter_proxy_cache[path]

    # ---- the trace ----

    def create_args_for_root(self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None) -> tuple:
        """The function to run and its arguments: a placeholder for each parameter that is not fixed by `concrete_args`.

        RuntimeError if a module's forward has no `self`, or for a tuple of another length.
        """
        unwrapped = inspect.unwrap(root_fn)
        code, signature = unwrapped.__code__, read_signature(unwrapped)
        count = code.co_argcount + code.co_kwonlyargcount
        original = list(code.co_varnames[:count])
        names = iter(code.co_varnames)
        args = []
        if is_module:
            if count == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            next(names)
            args.append(self.root)
        names_left = [next(names) for _ in range(len(args), count)]
        if isinstance(concrete_args, tuple):
            if len(names_left) != len(concrete_args):
                raise RuntimeError(
                    f"Tracing expected {len(names_left)} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names_left, concrete_args))

        def placeholder(name: str) -> dict[str, Proxy] | list[Proxy] | Proxy:
            return self._proxy_placeholder(name, concrete_args, signature, unwrapped)

        args.extend(map(placeholder, names_left))
        if code.co_kwonlyargcount or code.co_flags & _VARIADIC:
            if code.co_flags & inspect.CO_VARARGS:
                args.append(placeholder(f"*{next(names)}"))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(placeholder(f"**{next(names)}"))
            root_fn = _with_positional_parameters(root_fn, len(args))
        flat, spec = pytree.tree_flatten(tuple(args))
        if all(child.is_leaf() for child in spec.children()):
            return root_fn, args
        generator = self.graph._codegen = PyTreeCodeGen(PyTreeInfo(original, spec, None))

        def of_leaves(*leaves):  # without types: those of what is traced go into its code
            result, out_spec = pytree.tree_flatten(root_fn(*pytree.tree_unflatten(list(leaves), spec)))
            generator.pytree_info = generator.pytree_info._replace(out_spec=out_spec)
            return result

        return of_leaves, flat

    def _proxy_placeholder(self, name, concrete_args, signature, function):
        default: tuple[Any, ...] = ()
        if name[0] != "*" and signature.parameters[name].default is not inspect.Parameter.empty:
            default = (signature.parameters[name].default,)
        if concrete_args is None or name not in concrete_args:
            return self.create_proxy("placeholder", name, default, {}, type_expr=_annotations(function).get(name))
        count = 0

        def fixed(value: Any) -> bool | Proxy:
            nonlocal count
            count += 1
            out = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(value, PHBase):
                if value is not PH:
                    _hand_attributes(value, out.node)
                return out
            if type(value) is bool or type(value) in BASE_TYPES and type(value) is not torch.Tensor:
                torch._assert(out == value, f"{name} has been specialized to have value {value} but got another value")
            elif value is None:
                text = f"{name} has been specialized to have value None but got another value"
                self.create_proxy("call_function", _assert_is_none, (out, text), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to "
                    "the user to make sure that your inputs match the inputs you specialized the function with.",
                    stacklevel=2,
                )
            return value

        return pytree.tree_map(fixed, concrete_args[name])

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """The graph of a module's forward, or of a function.

        `concrete_args` fixes arguments by name: what depends on them is decided now, and the graph asserts their values.
        TraceError where control flow depends on other inputs.
        """
        before, _state.tracing = _state.tracing, True
        try:
            return self._trace(root, concrete_args)
        finally:
            _state.tracing = before

    def _trace(self, root, concrete_args):
        is_module = isinstance(root, torch.nn.Module)
        if is_module:
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}")
            self.root, fn = root, getattr(type(root), self.traced_func_name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: name for name, module in root.named_modules()}
        else:
            self.root, fn = torch.nn.Module(), root
        self.graph = Graph(tracer_cls=type(self))
        if hasattr(fn, "__code__"):
            names = ("co_name", "co_filename", "co_firstlineno")
            self.graph._co_fields = {name: getattr(fn.__code__, name) for name in names}
        self.tensor_attrs = {}
        for path, module in self.root.named_modules():
            for name, value in vars(module).items():
                if isinstance(value, (torch.Tensor, pytree.TreeSpec)):
                    self.tensor_attrs[id(value)] = f"{path}.{name}" if path else name
        if not isinstance(fn, types.FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        namespace = fn.__globals__
        fn, args = self.create_args_for_root(fn, is_module, concrete_args)
        annotations = _annotations(inspect.unwrap(fn))
        with self._recording(namespace):
            result = self.create_arg(fn(*args))
        self.create_node("output", "output", (result,), {}, type_expr=annotations.get("return"))
        self.submodule_paths = None
        return self.graph

    @contextlib.contextmanager
    def _recording(self, namespace):
        """Within the block modules' attributes and calls go by this tracer, and leaf functions are recorded."""
        patches = _Patches()
        cache: dict[str, Any] = {}
        module_class = torch.nn.Module
        fetch, call = module_class.__getattr__, module_class.__call__

        @functools.wraps(fetch)
        def traced_fetch(module: torch.nn.Module, attr: str) -> Any:
            return self.getattr(attr, fetch(module, attr), cache)

        @functools.wraps(call)
        def traced_call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            patches.leaves(getattr(module.forward, "__globals__", {}), self._autowrap_function_ids)
            return self.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        try:
            patches.attribute(module_class, "__getattr__", traced_fetch)
            patches.attribute(module_class, "__call__", traced_call)
            for (_, name), where in _wrapped_functions.items():
                function = where.get(name, getattr(builtins, name, None))
                if function is not None:
                    patches.item(where, name, _as_leaf(function))
            for owner, name in _wrapped_methods_to_patch:
                patches.attribute(owner, name, _as_leaf_method(owner, name))
            for where in (namespace, *map(vars, self._autowrap_search)):
                patches.leaves(where, self._autowrap_function_ids)
            yield
        finally:
            patches.undo()

    def __deepcopy__(self, memo: dict[Any, Any] | None) -> Self:
        made = Tracer.__new__(type(self))
        for name, value in self.__dict__.items():
            made.__dict__[name] = copy.copy(value) if name == "_autowrap_search" else copy.deepcopy(value, memo)
        return made


register_tracer(Tracer)


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Mark a module-level function (or its name) as a leaf for symbolic tracing; returns it.

    RuntimeError if the argument is neither a function nor a name, NotImplementedError elsewhere than at module level.

    >>> import mindtorch_v2.fx
    >>> torch.fx.wrap("len")
    'len'
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_functions[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: Any = None) -> GraphModule:
    """Record what a module or a function does with proxies for its inputs; a GraphModule.

    `concrete_args` fixes some inputs, by name; see `Tracer.trace`, with its errors.

    >>> def function(x, flag):
    ...     return x + 1 if flag else x
    >>> print(torch.fx.symbolic_trace(function, concrete_args={"flag": False}).graph.output_node())
    output
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, torch.nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)


@wrap
def _assert_is_none(value, msg) -> None:
    if value is not None:
        raise AssertionError(msg)


def _annotations(function: Any) -> dict[str, Any]:
    """The annotations of a function: classes where this package's own code, which delays them, has their names."""
    found = read_annotations(function)
    if not (getattr(function, "__module__", None) or "").startswith("mindtorch_v2."):
        return found
    evaluated = {name: _evaluated(each, function.__globals__) for name, each in found.items()}
    return {name: each for name, each in evaluated.items() if each is not Any}


def _evaluated(annotation: Any, namespace: dict[str, Any]) -> Any:
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, {"Tensor": torch.Tensor, **namespace})
    except (NameError, AttributeError, TypeError):  # a name for type checkers only
        return annotation
