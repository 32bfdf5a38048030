"""Knowledge about functions and classes that are not instrumented: builtins, the standard library's C code, torch."""

from __future__ import annotations

import bisect
import collections
import copy
import dataclasses
import functools
import inspect
import logging
import operator
import os
import re
import types
import typing
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._capture import _control_flow, _custom_function, _transforms
from mindtorch_v2._capture._builtins import FACTS, builtins_table, classes, fact, make_dict, refusing, sort
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._outside import outside_of
from mindtorch_v2._capture._sources import look_up
from mindtorch_v2._library.definition import CustomOpDef
from mindtorch_v2._sizes.recorded import RecordedNumber, wrap_number
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = [
    "builtins_table",
    "cached",
    "class_method",
    "classes",
    "constant_method",
    "functions",
    "leaves",
    "method_handler",
    "native_method",
    "object_handler",
    "outside_method",
    "pure_call",
]

_missing = object()


# ---- torch ----

_NO_LEAVES = frozenset(
    "compile manual_seed seed initial_seed save load set_default_dtype set_default_device set_grad_enabled set_num_threads "
    "set_printoptions no_grad enable_grad inference_mode autocast is_tensor is_storage typename get_default_dtype "
    "is_grad_enabled promote_types result_type is_inference_mode_enabled equal is_nonzero allclose set_rng_state "
    "get_rng_state vmap numel is_floating_point is_complex use_deterministic_algorithms broadcast_shapes can_cast "
    "from_numpy frombuffer from_file from_dlpack overrides".split()
)


@functools.cache
def leaves() -> frozenset[Any]:
    """The functions whose calls are nodes."""
    found: set[Any] = set()
    for space in (torch, torch.functional, torch.nn.functional, torch.linalg, torch.fft, torch.special, _C._nn):
        for name, value in list(vars(space).items()):
            if name.startswith("_") or name in _NO_LEAVES or isinstance(value, (type, types.ModuleType)):
                continue
            if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type(torch.relu))):
                owner = getattr(value, "__module__", "") or ""
                if space is torch and isinstance(value, types.FunctionType) and not _is_operator_like(value, owner):
                    continue
                if owner.startswith(str(torch.__package__)) or owner.startswith("torch"):
                    found.add(value)
    makers: tuple[Any, ...] = (torch.tensor, torch.as_tensor)
    found.update(makers)
    return frozenset(found)


def _is_operator_like(value, owner):
    return value in _overridable() or owner.endswith((".functional", "_ops.factories"))


@functools.cache
def _overridable() -> set:
    spaces = torch.overrides.get_overridable_functions()
    return {f for found in spaces.values() for f in found if isinstance(f, types.FunctionType)}


def _true(trace: Recorder, *args, **kwargs) -> bool:
    return True


def _is_tensor(trace: Recorder, obj) -> bool:
    return isinstance(obj, torch.Tensor)


def _nothing(trace: Recorder, *args, **kwargs) -> None:
    return None


def _enter_autocast(trace: Recorder, mode):
    values = tuple(trace.attributes.get(mode, name) for name in ("device", "fast_dtype", "_enabled", "_cache_enabled"))
    trace.blocks.enter_autocast(*values)
    return mode


def _exit_autocast(trace: Recorder, mode, *error) -> bool:
    trace.blocks.exit_autocast()
    return False


def _checkpoint(
    trace: Recorder,
    function,
    *args,
    use_reentrant=None,
    context_fn=None,
    determinism_check="default",
    debug=False,
    preserve_rng_state=True,
    early_stop=True,
    **kwargs,
):
    # It computes the same; what is kept for backward is the compiler's business.
    return trace.calls.call(function, *args, **kwargs)


def _tensor_fact(name):
    def handler(trace: Recorder, tensor: Any) -> Any:
        return trace.tensors.method(tensor, name, (), {})

    return handler


# ---- Python functions with a meaning of their own ----


def _warn(trace: Recorder, message, category=None, stacklevel=1, source=None, **kwargs) -> None:
    # Said when the program is captured, not at each call.
    trace.texts.of(message, -1, "")
    warnings.warn(message, category, stacklevel=2)


def _quiet(trace: Recorder, *args, **kwargs) -> None:
    return None


def _signature(trace: Recorder, f, **kwargs):
    if isinstance(f, types.FunctionType):
        trace.guards.note("function", None, (f, f.__code__, f.__defaults__, f.__kwdefaults__))
    return inspect.signature(f, **kwargs)


def _cast(trace: Recorder, typ, value):
    return value


def _fields(trace: Recorder, of):
    return dataclasses.fields(of)


def _is_dataclass(trace: Recorder, of):
    return dataclasses.is_dataclass(of)


def _copied(trace: Recorder, value):
    if is_constant(value):
        return value
    if type(value) in (list, dict, set):
        made = trace.values.deep(value) if trace.sources.source_of(value) is None else None
        if made is None:
            return type(value)(trace.iteration.mapping(value) if type(value) is dict else trace.iteration.over(value))
        return copy.copy(value)
    if (
        trace.sources.source_of(value) is None
        and look_up(type(value), "__copy__") is None
        and not isinstance(value, torch.Tensor)
    ):
        if look_up(type(value), "__reduce_ex__") is object.__reduce_ex__:
            return copy.copy(value)
    trace.refuse(f"copy of a {type(value).__name__} cannot be captured", "copy")
    return None


def _deep_copied(trace: Recorder, value, memo=None):
    if is_constant(value):
        return value
    value = trace.values.deep(value)
    if trace.values.is_plain(value):
        return copy.deepcopy(value)
    trace.refuse(f"copy.deepcopy of a {type(value).__name__} cannot be captured", "copy")
    return None


def _guarded_result(f):
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not all(map(is_constant, args)):
            trace.refuse(f"{f.__qualname__} with these arguments", "call")
        value = f(*args)
        if not is_constant(value):
            trace.refuse(f"{f.__qualname__} gave a {type(value).__name__}", "call")
        trace.guards.note("result", None, (f, args, value))
        return value

    return handler


def _tree_map(trace: Recorder, func, tree, *rests, is_leaf=None):
    if rests or is_leaf is not None:
        return trace.functions.call(pytree.tree_map, (func, tree, *rests), {"is_leaf": is_leaf})
    leaves, spec = pytree.tree_flatten(trace.values.deep(tree))
    return pytree.tree_unflatten([trace.calls.call(func, leaf) for leaf in leaves], spec)


@functools.cache
def functions() -> Any:
    """Python functions -> handler(trace, *args, **kwargs)."""
    found = {
        torch.autocast.__enter__: _enter_autocast,
        torch.autocast.__exit__: _exit_autocast,
        torch.compiler.is_compiling: _true,
        torch.compiler.is_dynamo_compiling: _true,
        torch.jit.is_tracing: _constantly(False),
        torch.is_tensor: _is_tensor,
        torch.numel: _tensor_fact("numel"),
        torch.is_floating_point: _tensor_fact("is_floating_point"),
        torch.manual_seed: refusing("torch.manual_seed", "random"),
        torch.utils.checkpoint.checkpoint: _checkpoint,
        torch._dynamo.graph_break: refusing("torch._dynamo.graph_break()", "graph_break"),
        torch._dynamo.mark_static_address: _quiet,
        torch.autograd.backward: refusing("torch.autograd.backward", "autograd"),
        torch.autograd.grad: refusing("torch.autograd.grad", "autograd"),
        torch.overrides.has_torch_function: _constantly(False),
        torch.overrides.is_tensor_like: _is_tensor,
        warnings.warn: _warn,
        inspect.signature: _signature,
        typing.cast: _cast,
        dataclasses.fields: _fields,
        dataclasses.is_dataclass: _is_dataclass,
        collections.namedtuple: fact(collections.namedtuple),
        copy.copy: _copied,
        copy.deepcopy: _deep_copied,
        os.getenv: _guarded_result(os.getenv),
        **_control_flow.handlers(),
        **_transforms.handlers(),
    }
    for name in FACTS:
        for space in (torch, torch.amp):
            f = getattr(space, name, None)
            if isinstance(f, types.FunctionType):
                found[f] = fact(f)
    for name in "debug info warning error critical exception log isEnabledFor".split():
        found[getattr(logging.Logger, name)] = _log_once(getattr(logging.Logger, name))
    for name in ("allow_in_graph", "disable", "assume_constant_result"):
        found.setdefault(getattr(torch.compiler, name), refusing(f"torch.compiler.{name}", "compiler"))
    return found


def _constantly(value):
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        return value

    return handler


def _log_once(f):
    def handler(trace: Recorder, logger: logging.Logger, *args: Any, **kwargs: Any) -> Any:
        # Said when the program is captured, not at each call.
        for each in args:
            trace.texts.of(each, -1, "")
        result = f(logger, *args, **kwargs)
        if f.__name__ == "isEnabledFor":
            trace.guards.note("result", None, (f, (logger, *args), result))
        return result

    return handler


def cached(trace: Recorder, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A call of what functools.lru_cache made: its result is guarded by calling it again, or else the function itself is called."""
    if _is_logging(f):
        if all(map(is_constant, args)) and all(map(is_constant, kwargs.values())):
            f(*args, **kwargs)
            return None
        # self and a text: a logger's method.
        if len(args) > 1 and isinstance(args[0], logging.Logger):
            f(*args, **kwargs)
            return None
    if not all(is_constant(a) or isinstance(a, (type, types.FunctionType)) for a in (*args, *kwargs.values())):
        return trace.calls.call(f.__wrapped__, *args, **kwargs)
    with outside_of():
        value = f(*args, **kwargs)
    if not (is_constant(value) or isinstance(value, (type, types.FunctionType, types.ModuleType))):
        return trace.calls.call(f.__wrapped__, *args, **kwargs)
    call = functools.partial(f, **kwargs) if kwargs else f
    trace.guards.note("result", None, (call, tuple(args), value))
    return value


def assumed_constant(f: Any) -> Any:
    """A call of a function of which the program says that it always gives the same."""

    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        if not all(map(is_constant, (*args, *kwargs.values()))):
            trace.refuse(f"{f.__qualname__!r}, assumed constant, with arguments that are no constants", "call")
        with outside_of():
            value = f(*args, **kwargs)
        if not is_constant(value):
            trace.refuse(f"{f.__qualname__!r}, assumed constant, gave a {type(value).__name__}", "call")
        return value

    return handler


def _is_logging(f):
    return f.__name__.startswith(("warning", "info")) and "logg" in (f.__module__ or "")


_PURE_MODULES = ("math", "_string", "cmath", "_struct", "unicodedata")
_PURE_FUNCTIONS = (operator.concat, operator.countOf, operator.indexOf, bisect.bisect_left, bisect.bisect_right)
_WRITING_MODULES = ("_heapq", "_bisect")  # to their first argument


def pure_call(trace: Recorder, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A call of a function in C that is in no table: allowed if its module is pure and its arguments plain."""
    module = getattr(f, "__module__", None) or ""
    if module in _PURE_MODULES or f in _PURE_FUNCTIONS:
        args = [trace.values.deep(a) for a in args]
        if any(isinstance(a, RecordedNumber) for a in args) and not kwargs:
            values = [a.value if isinstance(a, RecordedNumber) else a for a in args]
            return wrap_number(trace, trace.graph.symbolic_node(f, tuple(args)), f(*values))
        if all(map(trace.values.is_plain, (*args, *kwargs.values()))):
            return f(*args, **kwargs)
        if any(isinstance(a, torch.Tensor) for a in args):
            trace.refuse(f"{module}.{f.__name__} of a tensor depends on its values", "data_dependent")
    # What is plain was made by the program, so that it may be written to.
    elif module in _WRITING_MODULES and all(map(trace.values.is_plain, (*args, *kwargs.values()))):
        return f(*args, **kwargs)
    trace.refuse(f"the function {module}.{f.__name__}, which is not known to be pure, cannot be captured", "call")


def class_method(trace: Recorder, f: Any, owner: type, args: Any, kwargs: dict[str, Any]) -> Any:
    """A call of a method in C of a class: `dict.fromkeys`, `object.__new__`."""
    name = f.__name__
    if name == "apply" and issubclass(owner, torch.autograd.Function):
        return _custom_function.apply(trace, owner, args, kwargs)
    if name == "__new__":
        cls = args[0]
        if owner is object:
            return object.__new__(cls)
        if issubclass(cls, (dict, list, set, tuple, str, int, float, BaseException)):
            return f(
                cls,
                *(
                    trace.iteration.over(a) if look_up(type(a), "__iter__") and type(a) is not str else a
                    for a in args[1:]
                ),
            )
    if name == "fromkeys" and owner is dict:
        return dict.fromkeys(trace.iteration.over(args[0]), *args[1:])
    if name == "maketrans" or is_constant(owner):
        return f(*args, **kwargs)
    if name in ("fromhex", "from_bytes"):
        return f(*args, **kwargs)
    trace.refuse(f"{f.__qualname__} cannot be captured", "call")
    return None


# ---- methods in C ----

_WRITES = frozenset(
    "append extend insert remove pop clear sort reverse update setdefault popitem add discard appendleft popleft "
    "__setitem__ __delitem__ __iadd__ move_to_end intersection_update difference_update rotate extendleft".split()
)


def outside_method(trace: Recorder, obj: Any, name: str, source: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """A call of a method of an object from outside that is written in C."""
    if name in _WRITES:
        if isinstance(obj, dict) and name == "setdefault" and dict.__contains__(obj, args[0]):
            return trace.items.get(obj, args[0])
        copy = trace.writes.to_copy(obj)
        return native_method(trace, copy, look_up(type(copy), name), args, kwargs)
    if isinstance(obj, dict):
        if name == "get":
            if trace.comparisons.contains(obj, args[0]):
                return trace.items.get_outside(obj, type(obj), source, args[0])
            return args[1] if len(args) > 1 else kwargs.get("default")
        if name == "keys":
            return list(trace.iteration.keys(obj, source))
        if name == "items":
            return trace.iteration.items(obj, source)
        if name == "values":
            return [value for _, value in trace.iteration.items(obj, source)]
        if name == "copy":
            return type(obj)(trace.iteration.items(obj, source))
        if name == "__getitem__":
            return trace.items.get_outside(obj, type(obj), source, args[0])
        if name == "__contains__":
            return trace.comparisons.contains(obj, args[0])
        if name == "__iter__":
            return iter(trace.iteration.keys(obj, source))
    if isinstance(obj, (list, set, collections.deque)):
        if name == "__getitem__":
            return trace.items.get_outside(obj, type(obj), source, args[0])
        if name == "__iter__":
            return iter(trace.iteration.over(obj))
        if name in ("copy", "index", "count", "union", "intersection", "difference", "issubset", "issuperset"):
            made = type(obj)(trace.iteration.over(obj))
            return native_method(trace, made, look_up(type(obj), name), args, kwargs)
    if name == "__len__":
        return trace.items.length(obj)
    handler = method_handler(obj, name)
    if handler is not None:
        return handler(trace, obj, *args, **kwargs)
    trace.refuse(f"{type(obj).__name__}.{name}() of an object outside cannot be captured", "call")
    return None


def constant_method(
    trace: Recorder, obj: Any, descriptor: Callable[..., Any], args: Any, kwargs: dict[str, Any]
) -> bool | str:
    """A call of a method of a constant, as `"".join`."""
    name = descriptor.__name__
    if isinstance(obj, str) and name == "join":
        items = [*trace.iteration.over(args[0])]
        return obj.join(items)
    if isinstance(obj, str) and name == "format":
        for each in (*args, *kwargs.values()):
            if not trace.values.is_plain(each):
                trace.refuse(f"the text of a {type(each).__name__} in str.format", "format")
    args = [trace.values.deep(a) for a in args]
    if not all(map(trace.values.is_plain, args)) and name not in ("__eq__", "__ne__", "format"):
        trace.refuse(f"{type(obj).__name__}.{name}() with these arguments", "call")
    return descriptor(obj, *args, **kwargs)


_COMPARING = frozenset("remove index count __contains__ __eq__ __ne__ __lt__ __gt__".split())


def native_method(trace: Recorder, obj: Any, descriptor: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A call of a method in C of a builtin container that the program made."""
    name = descriptor.__name__
    if name == "sort":
        obj[:] = sort(trace, obj, **kwargs)
        return None
    if name in _COMPARING:
        if name in ("__contains__",) and isinstance(obj, (dict, set)):
            return descriptor(obj, *args)
        if not trace.values.is_plain(obj) or not all(map(trace.values.is_plain, args)):
            trace.refuse(f"{type(obj).__name__}.{name}() with objects", "comparison")
    if isinstance(obj, dict):
        if name in ("update", "__init__") and args:
            return dict.update(obj, make_dict(trace, *args), **kwargs)
        if type(obj) not in (dict, collections.OrderedDict) and name in ("items", "values", "keys"):
            return list(getattr(dict, name)(obj))
        return descriptor(obj, *args, **kwargs)
    if name in ("extend", "update", "union", "intersection", "difference", "__init__", "issubset", "extendleft"):
        args = [trace.iteration.over(a) for a in args]
    return descriptor(obj, *args, **kwargs)


@functools.cache
def _methods() -> dict[tuple[type, str], Callable[..., Any]]:
    found: dict[tuple[type, str], Callable[..., Any]] = {}
    for name in "match search fullmatch sub findall split".split():
        found[re.Pattern, name] = _pattern(name)
    for name in "group groups start end span groupdict".split():
        found[re.Match, name] = lambda trace, obj, *args, name=name: getattr(obj, name)(*args)
    for name in "get keys items values copy __getitem__ __contains__ __len__ __iter__".split():
        found[types.MappingProxyType, name] = lambda trace, obj, *args, name=name: getattr(obj, name)(*args)
    return found


def _pattern(name):
    def handler(trace: Recorder, pattern: Any, *args: Any) -> Any:
        if not all(map(is_constant, args)):
            trace.refuse("a regular expression with these arguments", "call")
        return getattr(pattern, name)(*args)

    return handler


def method_handler(obj: Any, name: str) -> Any:
    """The handler of a method in C of an object of another class; None if it is not known."""
    return _methods().get((type(obj), name))


def _getter(one):
    """A call of what `operator` makes: the same is done here, for each thing that it was made to get."""

    def handler(trace: Recorder, getter: Any, obj: Any) -> Any:
        source = trace.sources.source_of(getter)
        if source is not None:
            trace.guards.note("identity", source, getter)
        found = tuple(one(trace, obj, each) for each in getter.__reduce__()[1])
        return found if len(found) > 1 else found[0]

    return handler


def _attribute_by_path(trace: Recorder, obj, path):
    return functools.reduce(trace.attributes.get, path.split("."), obj)


def _method_called(trace: Recorder, caller, obj):
    source = trace.sources.source_of(caller)
    if source is not None:
        trace.guards.note("identity", source, caller)
    made, args = caller.__reduce__()
    name, args, kwargs = (
        (made.args[0], args, made.keywords) if type(made) is functools.partial else (*args[:1], args[1:], {})
    )
    return trace.calls.call(trace.attributes.get(obj, name), *args, **kwargs)


_GETTERS: dict[type, Callable[..., Any]] = {
    operator.itemgetter: _getter(lambda trace, obj, key: trace.items.get(obj, key)),
    operator.attrgetter: _getter(_attribute_by_path),
    operator.methodcaller: _method_called,
}


def _of_operator(f):
    handler = functions().get(f)
    return None if handler is None else lambda trace, obj, *args, **kwargs: handler(trace, *args, **kwargs)


def object_handler(f: Any) -> Any:
    """The handler of a call of an object that is no function; None if it is not known."""
    if isinstance(f, torch._ops.HigherOrderOperator):
        return _of_operator(f)
    if isinstance(f, CustomOpDef):
        return lambda trace, obj, *args, **kwargs: trace.calls.leaf(obj._opoverload, args, kwargs)
    if type(f) in _GETTERS:
        return _GETTERS[type(f)]
    if isinstance(f, torch._dynamo.eval_frame.OptimizedModule):
        return lambda trace, obj, *args, **kwargs: trace.calls.call(
            trace.attributes.get(obj, "_orig_mod"), *args, **kwargs
        )
    return None
