"""Builtin functions and classes, and those of `operator`, `functools` and `collections`, as calls in a trace."""

from __future__ import annotations

import abc
import builtins
import collections
import functools
import operator
import threading
import types
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._methods import BoundSlot, TensorMethod
from mindtorch_v2._capture._sources import look_up
from mindtorch_v2._sizes.recorded import RecordedFloat, RecordedInt, RecordedNumber, RecordedSize, wrap_number

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder


__all__ = ["FACTS", "builtins_table", "classes", "fact", "make_dict", "refusing", "sort", "state"]

_missing = object()


FACTS = (
    "is_grad_enabled get_default_dtype is_inference_mode_enabled is_autocast_enabled get_autocast_dtype promote_types "
    "is_autocast_cache_enabled is_autocast_available result_type can_cast is_conj is_complex is_inference is_neg "
    "is_autocast_cpu_enabled get_autocast_cpu_dtype get_autocast_gpu_dtype "
    "are_deterministic_algorithms_enabled get_default_device is_deterministic_algorithms_warn_only_enabled"
).split()


def fact(f: Any) -> Callable[..., Any]:
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return handler


def state(f: Any) -> Callable[..., Any]:
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        node = trace.graph.write(f, args, kwargs)
        result = node.meta["example_value"] = f(*args, **kwargs)
        return result

    return handler


def refusing(what: str, kind: Any) -> Callable[..., Any]:
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> None:
        trace.refuse(f"{what} cannot be captured", kind)

    return handler


def _reduce(trace: Recorder, function, sequence, *initial):
    items = iter(trace.iteration.over(sequence))
    result = initial[0] if initial else next(items)
    for each in items:
        result = trace.calls.call(function, result, each)
    return result


def _isinstance(trace: Recorder, obj, classes) -> bool:
    classes = _flat(classes)
    if isinstance(obj, torch.Tensor):
        kind = trace.graph.real_class(obj)
        return any(
            issubclass(kind, c) if isinstance(c, type) and not _lenient(c) else isinstance(obj, c) for c in classes
        )
    if isinstance(obj, RecordedNumber):
        return any(
            issubclass(float if isinstance(obj, RecordedFloat) else int, c) or isinstance(obj, c) for c in classes
        )
    if isinstance(obj, RecordedSize):
        return any(issubclass(torch.Size, c) for c in classes)
    for each in classes:
        if type(look_up(type(each), "__instancecheck__")) is types.FunctionType and not _known_check(each):
            trace.refuse(f"isinstance with {each!r}", "call")
    return isinstance(obj, tuple(classes))


def _lenient(kind) -> bool:
    return type(look_up(type(kind), "__instancecheck__")) is types.FunctionType


def _known_check(kind):
    if getattr(kind, "_is_protocol", False):
        return False
    meta: Any = type(kind)
    return meta.__instancecheck__ is abc.ABCMeta.__instancecheck__ or meta.__module__.startswith(
        ("mindtorch_v2", "torch", "typing", "enum")
    )


def _flat(classes) -> list:
    if isinstance(classes, tuple):
        return [c for each in classes for c in _flat(each)]
    if isinstance(classes, types.UnionType):
        return list(typing.get_args(classes))
    return [classes]


def _issubclass(trace: Recorder, kind, classes) -> bool:
    return issubclass(kind, classes)


def _getattr(trace: Recorder, obj, name, *default):
    if not default:
        return trace.attributes.get(obj, name)
    try:
        return trace.attributes.get(obj, name)
    except AttributeError:
        return default[0]


def _hasattr(trace: Recorder, obj, name) -> bool:
    try:
        trace.attributes.get(obj, name)
    except AttributeError:
        return False
    return True


def _setattr(trace: Recorder, obj, name, value) -> None:
    trace.attributes.set(value, obj, name)


def _delattr(trace: Recorder, obj, name) -> None:
    trace.attributes.delete(obj, name)


def _callable(trace: Recorder, obj) -> bool:
    return callable(obj) or isinstance(obj, (BoundSlot, TensorMethod))


def _len(trace: Recorder, obj):
    return trace.items.length(obj)


def _next(trace: Recorder, iterator, *default):
    step = look_up(type(iterator), "__next__")
    if type(step) is types.FunctionType:
        try:
            return trace.calls.call(step, iterator)
        except StopIteration:
            if default:
                return default[0]
            raise
    if not trace.values.is_native(iterator):
        trace.refuse(f"next() of a {type(iterator).__name__} outside", "iteration")
    return next(iterator, *default)


def _iter(trace: Recorder, obj, *sentinel):
    if sentinel:
        trace.refuse("iter() with a sentinel", "iteration")
    return iter(trace.iteration.over(obj))


def _sum(trace: Recorder, items, start=0):
    for each in trace.iteration.over(items):
        start = trace.operators.binary("add", start, each)
    return start


def _chosen(trace: Recorder, compare, a, b):
    """The greater (or less) of two numbers of which one is in a tensor: chosen in the graph, as a tensor."""
    if any(isinstance(each, torch.Tensor) and each.numel() != 1 for each in (a, b)):
        trace.refuse("min() or max() of tensors of several elements", "data_dependent")
    if not all(isinstance(each, (torch.Tensor, int, float)) for each in (a, b)):
        trace.refuse("min() or max() of a tensor and what is no number", "comparison")
    return trace.graph.record("call_function", torch.where, (trace.comparisons.compare(compare, b, a), b, a), {})


def _extreme(compare):
    def handler(trace: Recorder, *args: Any, key: Any = None, default: Any = _missing) -> Any:
        items = [*trace.iteration.over(args[0])] if len(args) == 1 else list(args)
        if not items:
            if default is _missing:
                raise ValueError("min()/max() arg is an empty sequence")
            return default
        if (
            any(isinstance(i, RecordedNumber) for i in items)
            and key is None
            and all(isinstance(i, (int, float, RecordedNumber)) for i in items)
        ):
            f = max if compare == "gt" else min
            value = f(*(i.value if isinstance(i, RecordedNumber) else i for i in items))
            return wrap_number(trace, trace.graph.symbolic_node(f, tuple(items)), value)
        if key is None and len(items) > 1 and any(isinstance(i, torch.Tensor) for i in items):
            return functools.reduce(functools.partial(_chosen, trace, compare), items)
        best = items[0]
        best_key = best if key is None else trace.calls.call(key, best)
        for each in items[1:]:
            this = each if key is None else trace.calls.call(key, each)
            if trace.comparisons.truth(trace.comparisons.compare(compare, this, best_key)):
                best, best_key = each, this
        return best

    return handler


def sort(trace: Recorder, items: Any, *, key: Any = None, reverse: bool = False) -> list:
    items = [*trace.iteration.over(items)]
    keys = items if key is None else [trace.calls.call(key, each) for each in items]
    if not all(map(trace.values.is_plain, keys)):
        trace.refuse("sorted() of objects", "comparison")
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
    return [items[i] for i in order]


def _any(trace: Recorder, items) -> bool:
    return any(trace.comparisons.truth(each) for each in trace.iteration.over(items))


def _all(trace: Recorder, items) -> bool:
    return all(trace.comparisons.truth(each) for each in trace.iteration.over(items))


def _arithmetic(f):
    def handler(trace: Recorder, *args: Any) -> Any:
        if isinstance(args[0], torch.Tensor):
            return trace.graph.record("call_function", f, args, {})
        if not all(is_constant(a) or isinstance(a, RecordedNumber) for a in args):
            trace.refuse(f"{f.__name__}() of a {type(args[0]).__name__}", "operator")
        return f(*args)

    return handler


def _number(kind):
    def handler(trace: Recorder, *args: Any) -> Any:
        if args and isinstance(args[0], torch.Tensor):
            args = (trace.tensors.method(args[0], "item", (), {}), *args[1:])
        if args and isinstance(args[0], RecordedNumber):
            if isinstance(args[0], RecordedInt if kind is int else RecordedFloat):
                return args[0]
            return args[0]._with(kind, *args)
        if not all(map(is_constant, args)):
            trace.refuse(f"{kind.__name__}() of a {type(args[0]).__name__}", "operator")
        return kind(*args)

    return handler


def _bool(trace: Recorder, value=False):
    return trace.comparisons.truth(value)


def _str(trace: Recorder, *args):
    if len(args) == 1:
        return args[0] if type(args[0]) is str else trace.texts.of(args[0], 115, "")
    return str(*args)


def _repr(trace: Recorder, value):
    return trace.texts.of(value, 114, "")


def _format(trace: Recorder, value, spec=""):
    return trace.texts.of(value, -1, spec)


def _hash(trace: Recorder, value) -> int:
    if not is_constant(value):
        trace.refuse("hash() of an object", "identity")
    return hash(value)


def _id(trace: Recorder, value) -> int:
    """Of what comes from outside: guarded to be the same object. The program's own objects are others at each call."""
    given = trace.graph.input_of(value) if isinstance(value, torch.Tensor) else None
    source, real = (trace.sources.source_of(value), value) if given is None else (given.source, given.real)
    if source is None and not isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        trace.refuse("id() of an object that the program made", "identity")
    if source is not None:
        trace.guards.note("identity", source, real)
    return id(real)


def _vars(trace: Recorder, *args):
    if not args:
        trace.refuse("vars() without an argument", "builtin")
    return trace.attributes.get(args[0], "__dict__")


def _type(trace: Recorder, *args):
    if len(args) != 1:
        trace.refuse("making a class", "class_definition")
    if isinstance(args[0], torch.Tensor):
        return trace.graph.real_class(args[0])
    if isinstance(args[0], RecordedNumber):
        return float if isinstance(args[0], RecordedFloat) else int
    return torch.Size if isinstance(args[0], RecordedSize) else type(args[0])


def _range(trace: Recorder, *args):
    return range(*(a.__index__() if isinstance(a, RecordedNumber) else a for a in args))


def _zip(trace: Recorder, *iterables, strict=False):
    return zip(*(trace.iteration.over(i) for i in iterables), strict=strict)


def _map(trace: Recorder, function, *iterables):
    return map(lambda *each: trace.calls.call(function, *each), *(trace.iteration.over(i) for i in iterables))


def _filter(trace: Recorder, function, items):
    if function is None:
        return (each for each in trace.iteration.over(items) if trace.comparisons.truth(each))
    return (each for each in trace.iteration.over(items) if trace.comparisons.truth(trace.calls.call(function, each)))


def _enumerate(trace: Recorder, items, start=0):
    return enumerate(trace.iteration.over(items), start)


def _reversed(trace: Recorder, items):
    return iter([*trace.iteration.over(items)][::-1])


def _container(kind):
    def handler(trace: Recorder, *args: Any) -> Any:
        return kind(*(trace.iteration.over(a) for a in args))

    return handler


def make_dict(trace: Recorder, *args: Any, **kwargs: Any) -> dict:
    if not args:
        return dict(**kwargs)
    if isinstance(args[0], dict) or look_up(type(args[0]), "keys") is not None:
        return dict(trace.iteration.mapping(args[0]), **kwargs)
    return dict(((k, v) for k, v in (trace.iteration.over(each) for each in trace.iteration.over(args[0]))), **kwargs)


def _ordered(kind):
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        return kind(make_dict(trace, *args), **kwargs)

    return handler


def _default_dict(trace: Recorder, factory=None, *args, **kwargs):
    wrapped = (
        None
        if factory is None
        else factory
        if factory in (int, list, dict, set, float)
        else trace.functions.wrapped(factory)
    )
    return collections.defaultdict(wrapped, *args, **kwargs)


def _counter(trace: Recorder, items=(), **kwargs):
    items = trace.values.deep(items)
    if not trace.values.is_plain(items):
        trace.refuse("a Counter of objects", "call")
    return collections.Counter(items, **kwargs)


def _super(trace: Recorder, *args):
    if len(args) != 2:
        trace.refuse("super() with these arguments", "super")
    return super(*args)


def _partial(trace: Recorder, function, *args, **kwargs):
    return functools.partial(function, *args, **kwargs)


def _plainly(kind):
    def handler(trace: Recorder, *args: Any, **kwargs: Any) -> Any:
        args = tuple(trace.values.deep(a) for a in args)
        if not all(is_constant(a) or isinstance(a, (list, tuple)) for a in args):
            trace.refuse(f"{kind.__name__} of these arguments", "call")
        return kind(*(a.__index__() if isinstance(a, RecordedInt) else a for a in args), **kwargs)

    return handler


def _size(trace: Recorder, items=()):
    items = [*trace.iteration.over(items)]
    return RecordedSize(items) if any(isinstance(i, RecordedNumber) for i in items) else torch.Size(items)


def _weak_ref(trace: Recorder, *args) -> None:
    trace.refuse("weak references cannot be captured", "identity")


def _object(trace: Recorder):
    return object()


def _property(trace: Recorder, *args, **kwargs) -> None:
    trace.refuse("making a property", "class_definition")


@functools.cache
def classes() -> Any:
    """Classes -> what a call of them does."""
    found = {
        int: _number(int),
        float: _number(float),
        complex: _number(complex),
        bool: _bool,
        str: _str,
        type: _type,
        range: _range,
        zip: _zip,
        map: _map,
        filter: _filter,
        enumerate: _enumerate,
        reversed: _reversed,
        list: _container(list),
        tuple: _container(tuple),
        set: _container(set),
        frozenset: _container(frozenset),
        collections.deque: lambda trace, items=(), maxlen=None: collections.deque(trace.iteration.over(items), maxlen),
        dict: make_dict,
        collections.Counter: _counter,
        collections.OrderedDict: _ordered(collections.OrderedDict),
        collections.defaultdict: _default_dict,
        slice: lambda trace, *args: slice(*args),
        super: _super,
        object: _object,
        types.MethodType: lambda trace, function, obj: types.MethodType(function, obj),
        functools.partial: _partial,
        bytes: _plainly(bytes),
        torch.Size: _size,
        torch.device: _plainly(torch.device),
        torch.finfo: _plainly(torch.finfo),
        torch.iinfo: _plainly(torch.iinfo),
        property: _property,
        types.SimpleNamespace: lambda trace, **kwargs: types.SimpleNamespace(**kwargs),
        operator.attrgetter: lambda trace, *names: operator.attrgetter(*names),
        operator.itemgetter: lambda trace, *items: operator.itemgetter(*items),
        operator.methodcaller: lambda trace, name, *args, **kwargs: operator.methodcaller(name, *args, **kwargs),
    }
    for kind in (torch.Generator, threading.local):
        found[kind] = refusing(f"making a {kind.__name__}", "call")
    return found


@functools.cache
def builtins_table() -> Any:
    """Functions in C -> handler."""
    found = {
        len: _len,
        isinstance: _isinstance,
        issubclass: _issubclass,
        getattr: _getattr,
        hasattr: _hasattr,
        setattr: _setattr,
        delattr: _delattr,
        callable: _callable,
        iter: _iter,
        next: _next,
        sum: _sum,
        min: _extreme("lt"),
        max: _extreme("gt"),
        sorted: sort,
        any: _any,
        all: _all,
        abs: _arithmetic(abs),
        round: _arithmetic(round),
        divmod: lambda trace, a, b: (trace.operators.binary("floordiv", a, b), trace.operators.binary("mod", a, b)),
        pow: lambda trace, a, b: trace.operators.binary("pow", a, b),
        repr: _repr,
        format: _format,
        hash: _hash,
        **{f: _plainly(f) for f in (ord, chr, bin, hex, oct)},
        id: _id,
        vars: _vars,
        functools.reduce: _reduce,
        print: refusing("print()", "print"),
        _C._set_grad_enabled: state(_C._set_grad_enabled),
        _C._set_inference_mode: state(_C._set_inference_mode),
        _C._disable_saved_tensors_hooks: state(_C._disable_saved_tensors_hooks),
    }
    for name in "dir globals locals open input eval exec compile breakpoint __import__".split():
        found[getattr(builtins, name)] = refusing(f"{name}()", "builtin")
    found.update({getattr(operator, n): _operator(n) for n in _OPERATORS})
    found[operator.getitem] = lambda trace, a, b: trace.items.get(a, b)
    found[operator.setitem] = lambda trace, a, b, c: trace.items.set(c, a, b)
    found[operator.index] = lambda trace, a: trace.calls.call(int, a)
    found[operator.truth] = lambda trace, a: trace.comparisons.truth(a)
    found[operator.not_] = lambda trace, a: not trace.comparisons.truth(a)
    found[operator.contains] = lambda trace, a, b: trace.comparisons.contains(a, b)
    found[operator.is_] = lambda trace, a, b: trace.comparisons.same(a, b)
    for name in FACTS:
        f = getattr(torch, name, None)
        if type(f) is types.BuiltinFunctionType:  # not one of ours, which says that it is
            found[f] = fact(f)
    return found


_OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul lshift rshift and_ or_ xor neg pos invert lt le gt ge eq ne "
    "iadd isub imul itruediv"
).split()


def _operator(name):
    if name in ("neg", "pos", "invert"):
        return lambda trace, a: trace.operators.unary(name, a)
    if name in ("lt", "le", "gt", "ge", "eq", "ne"):
        return lambda trace, a, b: trace.comparisons.compare(name, a, b)
    if name in ("iadd", "isub", "imul", "itruediv"):
        return lambda trace, a, b: trace.operators.augmented(name[1:], a, b)
    return lambda trace, a, b: trace.operators.binary(name, a, b)
