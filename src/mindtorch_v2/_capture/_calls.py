"""Calls: which functions are written into the graph, which are instrumented, and which are known to be pure."""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture import _known
from mindtorch_v2._capture._guard_kinds import is_constant
from mindtorch_v2._capture._operators import Operators
from mindtorch_v2._capture._reading import BoundSlot, TensorMethod
from mindtorch_v2._capture._result import Uncapturable
from mindtorch_v2._capture._rewrite import instrument
from mindtorch_v2._capture._sources import Attribute, Constant, Item, absent, look_up
from mindtorch_v2._capture._without_source import check_simple, runs_as_it_is
from mindtorch_v2._sizes.recorded import RecordedNumber, RecordedSize
from mindtorch_v2._subclasses.fake_tensor import DataDependentOutputException, FakeTensor

if TYPE_CHECKING:
    from mindtorch_v2._capture._trace import _Dynamic


__all__ = ["Calls"]

_factories: dict = {}
_OPERATOR_KINDS = (
    type(torch.relu),
    type(torch.Tensor.view),
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)
_VALUE_METHODS = frozenset(
    "item tolist numpy __bool__ __int__ __float__ __index__ __complex__ is_nonzero equal allclose data_ptr untyped_storage "
    "storage _typed_storage __array__ __dlpack__ __contains__ nonzero is_set_to".split()
)
_FACT_METHODS = frozenset(
    "dim ndimension stride element_size is_contiguous is_floating_point is_complex is_conj is_neg is_signed is_inference "
    "get_device dim_order is_same_size".split()
)
_REFUSED_METHODS = frozenset(
    "backward register_hook register_post_accumulate_grad_hook retain_grad share_memory_ pin_memory __reduce_ex__ "
    "__deepcopy__ __setstate__ set_ resize_ module_load storage_offset is_pinned is_shared _is_view has_names".split()
)


class Frame:
    """The names that an instrumented function has of its own: global variables and the cells that it closes over."""

    def __init__(self, trace: Any, function: Any, source: Any) -> None:
        self.trace, self.function, self.source = trace, function, source
        self.names: dict[Any, Any] = {}
        self.cells: dict[Any, Any] = {}

    def g(self, name: str) -> Any:
        """A global variable or a builtin."""
        found = self.names.get(name, absent)
        if found is absent:
            found = self.names[name] = self._global(name)
        return found

    def _global(self, name):
        trace, space = self.trace, self.function.__globals__
        where = trace.sources.source(Constant, space, f"G[{space.get('__name__', '?')}]")
        if name in space:
            return trace.sources.wrap(space[name], trace.sources.source(Item, where, name))
        trace.sources.guard("absent", where, name)
        builtins = self.function.__builtins__
        if name not in builtins:
            raise NameError(f"name {name!r} is not defined")
        where = trace.sources.source(Constant, builtins, "builtins")
        return trace.sources.wrap(builtins[name], trace.sources.source(Item, where, name))

    def c(self, name: str) -> Any:
        """The content of a cell."""
        found = self.cells.get(name, absent)
        if found is not absent:
            return found
        trace, function = self.trace, self.function
        index = function.__code__.co_freevars.index(name)
        cell = function.__closure__[index]
        if self.source is not None:
            of = trace.sources.source(Item, trace.sources.source(Attribute, self.source, "__closure__"), index, False)
        else:
            of = trace.sources.source(Constant, cell, f"{function.__qualname__}.<{name}>")
        try:
            value = cell.cell_contents
        except ValueError:
            raise NameError(f"cannot access free variable {name!r}") from None
        found = self.cells[name] = trace.sources.wrap(value, trace.sources.source(Attribute, of, "cell_contents"))
        return found

    def sg(self, value: Any, name: str) -> None:
        """Assignment to a global variable."""
        self.trace.refuse(f"assignment to the global variable {name!r}", "write")

    def sc(self, value: Any, name: str) -> None:
        """Assignment to a variable of a function around, which has been left."""
        self.trace.refuse(f"assignment to the variable {name!r} of a function around", "write")

    def imported(self, name: str, whole: bool) -> ModuleType:
        """`import name`."""
        module = self.trace.imported(name)
        return module if whole else self.trace.imported(name.partition(".")[0])

    def imported_from(self, module: Any, name: str, level: Any) -> Any:
        """`from module import name`."""
        if level:
            package = self.function.__globals__.get("__package__") or ""
            module = importlib.util.resolve_name("." * level + module, package)
        found = self.trace.imported(module)
        try:
            return self.trace.ga(found, name)
        except AttributeError:
            try:
                return self.trace.imported(f"{module}.{name}")
            except ImportError:
                raise ImportError(f"cannot import name {name!r} from {module!r}") from None


def _is_one_unknown_number(tensor):
    """Whether `item` of a fake tensor has to wait for its data."""
    return (
        isinstance(tensor, FakeTensor)
        and tensor.constant is None
        and tensor.numel() == 1
        and not tensor.dtype.is_complex
        and tensor.dtype is not torch.bool
    )


class Calls(Operators):
    """The part of a trace that calls."""

    def __init__(self, dynamic_sizes: _Dynamic) -> None:
        super().__init__(dynamic_sizes)
        self.made_functions: dict[Any, Any] = {}
        self.autocasts: list[Any] = []  # (node, what is entered), innermost last
        self.instrumented: dict[Any, Any] = {}
        self.depth = 0

    def imported(self, name: str) -> ModuleType:
        """The module of this name, imported if it was not."""
        if name not in sys.modules:
            with _known.outside_of():
                importlib.import_module(name)
        module = sys.modules[name]
        self.sources.guard(
            "identity",
            self.sources.source(Item, self.sources.source(Constant, sys.modules, "sys.modules"), name),
            module,
        )
        return module

    def made(self, function: Any) -> Callable[..., Any]:
        """A function that the program defines; it is instrumented already."""
        self.made_functions[id(function)] = function
        return function

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`f(*args, **kwargs)`."""
        self.alive()
        kind = type(f)
        if kind is types.FunctionType or kind is torch._C.Overridable:
            if id(f) in self.made_functions:
                return f(*args, **kwargs)
            handler = self._marked(f) or _known.functions().get(f)
            if handler is not None:
                return handler(self, *args, **kwargs)
            if f in _known.leaves():
                return self.leaf(f, args, kwargs)
            return self.python(f if kind is types.FunctionType else f._function, args, kwargs)
        if kind is types.MethodType:
            return self.call(f.__func__, f.__self__, *args, **kwargs)
        if kind is TensorMethod:
            return self.tensor_method(f.tensor, f.name, args, kwargs)
        if kind is BoundSlot:
            return self.slot(f.descriptor, f.obj, args, kwargs)
        if kind in _OPERATOR_KINDS:
            return self.operator_call(f, args, kwargs)
        if isinstance(f, type):
            return self.instantiate(f, args, kwargs)
        if kind in (types.BuiltinFunctionType, types.MethodWrapperType):
            return self.builtin(f, args, kwargs)
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
            if not args:
                return f()
            if isinstance(args[0], torch.Tensor):
                return self.tensor_method(args[0], f.__name__, args[1:], kwargs)
            return self.slot(f, args[0], args[1:], kwargs)
        if kind is functools.partial:
            source = self.sources.source_of(f)
            if source is None:
                return self.call(f.func, *f.args, *args, **{**f.keywords, **kwargs})
            function, before, keywords = (
                self.sources.wrap(getattr(f, n), self.sources.source(Attribute, source, n))
                for n in ("func", "args", "keywords")
            )
            return self.call(function, *before, *args, **{**self.mapping(keywords), **kwargs})
        if kind is functools._lru_cache_wrapper:
            return _known.cached(self, f, args, kwargs)
        handler = _known.object_handler(f)
        if handler is not None:
            return handler(self, f, *args, **kwargs)
        method = look_up(kind, "__call__")
        if method is None:
            raise TypeError(f"{kind.__name__!r} object is not callable")
        if type(method) is not types.FunctionType:
            self.refuse(f"a call of a {kind.__name__} cannot be captured", "call")
        self.sources.type_attribute(kind, "__call__")
        return self.call(method, f, *args, **kwargs)

    # ---- functions in Python ----

    def _marked(self, f):
        """The action that the program has told the compiler to do at calls of a function."""
        marks, told = f.__dict__, torch._dynamo._marks
        if marks.get("_torchdynamo_disable") is True:
            self.refuse(f"{f.__qualname__!r} is disabled for compilation", "disabled")
        if marks.get("_dynamo_forbidden") is True or f in told.DISALLOWED:
            self.refuse(f"{f.__qualname__!r} may not be called in a graph", "disallowed")
        if marks.get("_dynamo_marked_constant") is True:
            return _known.assumed_constant(f)
        if f in told.ALLOWED:
            return lambda trace, *args, **kwargs: trace.leaf(f, args, kwargs)
        replacement = told.SUBSTITUTES.get(f) or marks.get("_torchdynamo_orig_callable")
        if replacement is not None:
            return lambda trace, *args, **kwargs: trace.call(replacement, *args, **kwargs)
        return None

    def python(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a Python function: of its instrumented copy."""
        known = self.instrumented.get(id(f))
        if known is None:
            known = self.instrumented[id(f)] = self._instrumented(f)
        self.depth += 1
        if self.depth > 150:
            self.refuse("calls are nested too deep", "recursion")
        try:
            return known(*args, **kwargs)
        finally:
            self.depth -= 1

    def _instrumented(self, f):
        code = f.__code__
        key = (code.co_filename, code)
        if key not in _factories:
            try:
                _factories[key] = instrument(f)
            except Uncapturable as error:
                if error.kind != "no_source" or not code.co_filename.startswith("<"):
                    self.fail(error)
                _factories[key] = None
        source = self.sources.source_of(f)
        frame = Frame(self, f, source)
        if source is None or _factories[key] is None:
            self.sources.guard("function", None, (f, code, f.__defaults__, f.__kwdefaults__))
        if _factories[key] is None:
            try:
                check_simple(self, frame, f, _VALUE_METHODS | _REFUSED_METHODS)
            except Uncapturable as error:
                self.fail(error)
            self.kept.append(f)
            return runs_as_it_is(self, f)
        made = _factories[key](self, frame)
        made.__name__, made.__qualname__ = f.__name__, f.__qualname__
        of = source or self.sources.constant_source(f, f.__qualname__)
        if f.__defaults__ is not None:
            made.__defaults__ = self.sources.wrap(f.__defaults__, self.sources.source(Attribute, of, "__defaults__"))
        if f.__kwdefaults__ is not None:
            where = self.sources.source(Attribute, of, "__kwdefaults__")
            made.__kwdefaults__ = {
                name: self.sources.wrap(value, self.sources.source(Item, where, name))
                for name, value in f.__kwdefaults__.items()
            }
        self.kept.append(f)
        return made

    def wrapped(self, f: Any) -> Any:
        """`f` for C code that calls it."""
        if not callable(f) or type(f) is types.FunctionType and id(f) in self.made_functions:
            return f
        return lambda *args, **kwargs: self.call(f, *args, **kwargs)

    # ---- torch ----

    def leaf(self, f: Any, args: Any, kwargs: dict[str, Any]) -> torch.Tensor | None:
        """A call of a torch function: a node of the graph."""
        args, kwargs = self._prepared(args, kwargs)
        return self.graph.record("call_function", f, args, kwargs)

    def _prepared(self, args, kwargs) -> tuple:
        return tuple(self.deep(a) for a in args), {key: self.deep(value) for key, value in kwargs.items()}

    def operator_call(self, f: Any, args: Any, kwargs: dict[str, Any]) -> torch.Tensor | None:
        """A call of an operator: a function, a method or an entry of torch.ops."""
        if type(f) is type(torch.Tensor.view):
            return self.tensor_method(args[0], f.__name__, args[1:], kwargs)
        if kwargs.get("out") is not None and self.graph.tainted:
            self.refuse("out= with dynamic sizes", "dynamic")
        return self.leaf(f, args, kwargs)

    def tensor_method(self, tensor: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a method of a tensor."""
        if name in ("size",):
            shape = self.graph.shape_of(tensor)
            return shape[args[0] if args else kwargs["dim"]] if args or kwargs else shape
        if name in ("numel", "nelement"):
            return self.numel(tensor)
        if name == "__len__":
            return self.length(tensor)
        if name == "__iter__":
            return iter(self.it(tensor))
        if name in _VALUE_METHODS:
            known = id(tensor) not in self.graph.tainted
            if (
                self.graph.records_data
                and name == "item"
                and not args
                and not kwargs
                and _is_one_unknown_number(tensor)
            ):
                return self.graph.number_of(tensor)
            if known and name in ("item", "tolist", "__bool__", "__int__", "__float__", "__index__"):
                try:
                    return getattr(tensor, name)(*args)
                except DataDependentOutputException:
                    pass
            self.refuse(f"Tensor.{name}() depends on values", "data_dependent")
        if name in _FACT_METHODS:
            return self.graph.fact(tensor, name, args, kwargs)
        if name in _REFUSED_METHODS:
            self.refuse(f"Tensor.{name}() cannot be captured", "autograd" if name == "backward" else "tensor_method")
        if name == "type" and not args and not kwargs:
            return tensor.type()
        if name == "__getitem__":
            return self.gi(tensor, args[0])
        if name == "__setitem__":
            return self.si(args[1], tensor, args[0])
        if name == "requires_grad_" and id(tensor) in self.graph.real_of:
            self.refuse("requires_grad_() of an input", "write")
        args, kwargs = self._prepared(args, kwargs)
        result = self.graph.record("call_method", name, (tensor, *args), kwargs)
        if name in ("to", "type") and not isinstance(result, torch.Tensor):
            self.refuse(f"the result of Tensor.{name}()", "result")
        return result

    # ---- functions in C ----

    def builtin(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a function in C, of a module or bound to an object."""
        handler = (
            _known.builtins_table().get(f) if f.__self__ is None or isinstance(f.__self__, types.ModuleType) else None
        )
        if handler is not None:
            return handler(self, *args, **kwargs)
        owner = f.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            if f in _known.leaves():
                return self.leaf(f, args, kwargs)
            return _known.pure_call(self, f, args, kwargs)
        if isinstance(owner, type):
            return _known.class_method(self, f, owner, args, kwargs)
        descriptor = look_up(type(owner), f.__name__)
        if descriptor is None:
            self.refuse(f"{f.__qualname__} cannot be captured", "call")
        return self.slot(descriptor, owner, args, kwargs)

    def slot(self, descriptor: Any, obj: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """A call of a method in C of an object that is no tensor."""
        name = descriptor.__name__
        if descriptor.__objclass__ is object:
            return self._object_method(name, obj, args, kwargs)
        if isinstance(obj, (RecordedSize, RecordedNumber)):
            return getattr(obj, name)(*args, **kwargs)
        source = self.sources.source_of(obj)
        if source is not None:
            return _known.outside_method(self, obj, name, source, args, kwargs)
        if is_constant(obj):
            return _known.constant_method(self, obj, descriptor, args, kwargs)
        if isinstance(obj, BaseException):
            return descriptor(obj, *args, **kwargs)
        if self.is_native(obj):
            return _known.native_method(self, obj, descriptor, args, kwargs)
        if isinstance(obj, type) and name in ("mro", "__subclasses__"):
            return descriptor(obj)
        handler = _known.method_handler(obj, name)
        if handler is None:
            self.refuse(f"{type(obj).__name__}.{name}() cannot be captured", "call")
        return handler(self, obj, *args, **kwargs)

    def _object_method(self, name, obj, args, kwargs):
        if name == "__getattribute__":
            return self.plain_attribute(obj, *args)
        if name == "__setattr__":
            return self.plain_set(obj, *args)
        if name == "__delattr__":
            return self.da(obj, *args)
        if name in ("__init__", "__init_subclass__"):
            return None
        if name == "__eq__":
            return self.same(obj, args[0]) or NotImplemented
        if name == "__ne__":
            return not self.same(obj, args[0])
        self.refuse(f"object.{name}() cannot be captured", "call")
        return None

    # ---- objects ----

    def instantiate(self, cls: type, args: Any, kwargs: dict[str, Any]) -> Any:
        """`cls(*args, **kwargs)`."""
        handler = _known.classes().get(cls)
        if handler is not None:
            return handler(self, *args, **kwargs)
        if isinstance(cls, enum.EnumMeta):
            return cls(*args, **kwargs)
        if cls.__module__ == "itertools":
            return cls(*(self.it(a) if _iterable(a) else self.wrapped(a) for a in args), **kwargs)
        meta_call = look_up(type(cls), "__call__")
        if type(meta_call) is types.FunctionType:
            self.sources.type_attribute(type(cls), "__call__")
            return self.call(meta_call, cls, *args, **kwargs)
        if issubclass(cls, torch.Tensor):
            self.refuse(f"making a {cls.__name__} cannot be captured", "tensor_subclass")
        return self.make_instance(cls, args, kwargs)

    def make_instance(self, cls: type, args: Any, kwargs: dict[str, Any]) -> Any:
        """`type.__call__(cls, ...)`."""
        new = self.sources.type_attribute(cls, "__new__")
        plain = new.__func__ if type(new) is staticmethod else new
        if type(plain) is types.FunctionType:
            if hasattr(cls, "_fields") and plain.__code__.co_filename.startswith("<"):
                obj = plain(cls, *args, **kwargs)
            else:
                obj = self.call(plain, cls, *args, **kwargs)
        elif plain is object.__new__:
            obj = object.__new__(cls)
        elif issubclass(cls, (dict, list, set)):
            obj = plain(cls)
        elif issubclass(cls, BaseException):
            obj = plain(cls, *args)
        elif issubclass(cls, tuple):
            obj = plain(cls, *([*self.it(a)] for a in args))
        else:
            self.refuse(f"making a {cls.__name__} cannot be captured", "call")
        if type(obj) is not cls and not isinstance(obj, cls):
            return obj
        kind = type(obj)
        init = self.sources.type_attribute(kind, "__init__")
        if type(init) is types.FunctionType:
            if dataclasses.is_dataclass(kind) and init.__code__.co_filename.startswith("<"):
                self._dataclass_init(obj, kind, init, args, kwargs)
            else:
                self.call(init, obj, *args, **kwargs)
        elif init is not object.__init__:
            self.slot(init, obj, args, kwargs)
        return obj

    def _defaults(self, f):
        """The defaults of a function by parameter: values and where they stand."""
        code, found = f.__code__, {}
        self.sources.guard("function", None, (f, code, f.__defaults__, f.__kwdefaults__))
        of = self.sources.constant_source(f, f.__qualname__)
        defaults = f.__defaults__ or ()
        first = code.co_argcount - len(defaults)
        where = self.sources.source(Attribute, of, "__defaults__")
        for i, value in enumerate(defaults):
            found[code.co_varnames[first + i]] = value, self.sources.source(Item, where, i, False)
        where = self.sources.source(Attribute, of, "__kwdefaults__")
        for name, value in (f.__kwdefaults__ or {}).items():
            found[name] = value, self.sources.source(Item, where, name)
        return found

    def _dataclass_init(self, obj, kind, init, args, kwargs):
        """Do what the `__init__` that `dataclass` makes does."""
        owner = next(base for base in kind.__mro__ if "__init__" in base.__dict__)
        fields = [f for f in owner.__dataclass_fields__.values() if f._field_type is not dataclasses._FIELD_CLASSVAR]
        names = [f.name for f in fields if f.init and not f.kw_only]
        if len(args) > len(names):
            raise TypeError(f"{kind.__name__}.__init__() takes {len(names) + 1} positional arguments")
        given = {**dict(zip(names, args)), **kwargs}
        defaults = self._defaults(init)
        initial = []
        frozen = owner.__dataclass_params__.frozen
        for field in fields:
            if field.init and field.name in given:
                value = given.pop(field.name)
            elif field.init and field.default is not dataclasses.MISSING:
                value = self.sources.wrap(*defaults[field.name])
            elif field.default is not dataclasses.MISSING:
                self.refuse("a field of a dataclass with a default and without a parameter", "call")
            elif field.default_factory is not dataclasses.MISSING:
                value = self.call(field.default_factory)
            elif field.init:
                raise TypeError(f"{kind.__name__}.__init__() missing the argument {field.name!r}")
            else:
                continue
            if field._field_type is dataclasses._FIELD_INITVAR:
                initial.append(value)
            elif frozen:
                object.__setattr__(obj, field.name, value)
            else:
                self.sa(value, obj, field.name)
        if given:
            raise TypeError(f"{kind.__name__}.__init__() got an unexpected keyword argument {next(iter(given))!r}")
        if look_up(kind, "__post_init__") is not None:
            self.call(self.ga(obj, "__post_init__"), *initial)


def _iterable(value) -> bool:
    return look_up(type(value), "__iter__") is not None
