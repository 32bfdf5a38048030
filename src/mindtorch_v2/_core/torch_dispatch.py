"""Who takes over an operator's call below autograd: the modes of this thread, and classes with `__torch_dispatch__`.

The kernel of the key Python hands each call here with the operator; `torch.utils._python_dispatch` is the public side.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above
from mindtorch_v2._core.composing import composing, is_composing
from mindtorch_v2._core.dimensions import wrap_dim
from mindtorch_v2._core.dtype import Size
from mindtorch_v2._core.torch_function import subclasses_first, values_among
from mindtorch_v2._tensor import Tensor

_PYTHON = _C._key_bit("Python")
# The keys that are done where a mode or class is handed a call.
_ABOVE = _C._key_bit("Tracer") - _C._key_bit("ADInplaceOrView")
# Kernels of operators that PyTorch composes of others: _behaviours/composed.py.
_PARTS = _C._key_bit("PythonDispatcher")


def overload_of(handle: Any) -> Any:
    """The OpOverload of `torch.ops` that stands for an operator of the registry."""
    found = handle.__dict__.get("op_overload")
    if found is None:
        packet = getattr(above.operators(), handle.namespace)._packet(handle.name)
        found = handle.__dict__["op_overload"] = getattr(packet, handle.overload or "default")
    return found


class _State(threading.local):
    """The modes of this thread, innermost last, and how many blocks of `whole_calls` it is in."""

    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.whole = 0


_state = _State()


def _watch(modes: list[Any]) -> None:
    """Calls come here while there is a mode, whatever their arguments are."""
    include, exclude = _C._tls_keys()
    include &= ~(_PYTHON | _PARTS)
    if modes:
        include |= _PYTHON
        if not _state.whole and any(mode.sees_parts for mode in modes):
            include |= _PARTS
    _C._set_tls_keys(include, exclude)


@contextlib.contextmanager
def whole_calls() -> Iterator[None]:
    """Within this block modes see the operators of this package, not the parts that PyTorch makes some of them of."""
    _state.whole += 1
    _watch(_state.modes)
    try:
        yield
    finally:
        _state.whole -= 1
        _watch(_state.modes)


def push(mode: Any) -> None:
    """Let a mode be the innermost."""
    _state.modes.append(mode)
    _watch(_state.modes)


def pop() -> Any:
    """Take the innermost mode off, and return it."""
    mode = _state.modes.pop()
    _watch(_state.modes)
    return mode


def modes() -> list[Any]:
    """The modes of this thread, innermost last."""
    return _state.modes


@contextlib.contextmanager
def popped() -> Iterator[Any]:
    """Within this block the innermost mode is off."""
    mode = pop()
    try:
        yield mode
    finally:
        push(mode)


@contextlib.contextmanager
def no_modes() -> Iterator[list[Any]]:
    """Within this block all modes are off."""
    before = _state.modes
    _state.modes = []
    _watch(_state.modes)
    try:
        yield before
    finally:
        _state.modes = before
        _watch(before)


class DisableTorchDispatch:
    """While one is held neither modes nor classes are asked: operators run on the data that tensors have.

    It ends with the block that it opens, or with the object where there is none.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int] | None = _C._tls_keys()
        include, exclude = self._before
        _C._set_tls_keys(include & ~_PYTHON, exclude | _PYTHON)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        if self._before is not None:
            _C._set_tls_keys(*self._before)
            self._before = None

    def __del__(self) -> None:
        self.__exit__()


@contextlib.contextmanager
def reentrant() -> Iterator[None]:
    """Within this block calls record gradients, as where the operator was called that a mode or class has been handed."""
    include, exclude = _C._tls_keys()
    _C._set_tls_keys(include, exclude & ~_ABOVE)
    try:
        yield
    finally:
        _C._set_tls_keys(include, exclude)


def handler_of(kind: type) -> Callable[..., Any] | None:
    """The `__torch_dispatch__` of a class, or None where it is Tensor's own."""
    method = getattr(kind, "__torch_dispatch__", None)
    return None if method is None or method is Tensor.__torch_dispatch__ else method


def _overloaded(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments whose classes take calls over, one for each class: subclasses first, else in order."""
    return subclasses_first(value for value in values_among(args, kwargs) if _overrides(value))


def _overrides(value: Any) -> bool:
    return isinstance(value, Tensor) and type(value) is not Tensor and handler_of(type(value)) is not None


def seen_call(
    handle: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The call that modes, classes and graphs see: with a number, PyTorch's Python functions call another overload of some operators.

    What makes tensors says where, and whether in pinned memory. Arguments that are their defaults are left out: at the end of
    those given by position, and by name everywhere.
    """
    func = overload_of(handle)
    places = handle.__dict__.get("places")
    if places is None:
        places = handle.__dict__["places"] = _places_of(func._schema)
    unsaid = [name for name in places if kwargs.get(name) is None]
    if unsaid and not is_composing():
        kwargs = {**kwargs, **{name: _C._get_default_device() if name == "device" else False for name in unsaid}}
    name = handle.__dict__.get("seen_as")
    if name is not None and not is_composing():
        func = getattr(func.overloadpacket, name)
        positional = sum(not each.kwarg_only for each in func._schema.arguments)
        named = {each.name: value for each, value in zip(func._schema.arguments[positional:], args[positional:])}
        args, kwargs = args[:positional], {**named, **kwargs}
    return func, *without_defaults(func, args, kwargs)


def without_defaults(
    func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of an OpOverload but for those that are their defaults, as `seen_call` leaves them out."""
    defaults: _Defaults | None = func.__dict__.get("defaults")
    if defaults is None:
        defaults = func.__dict__["defaults"] = _Defaults(func._schema.arguments)
    return defaults.removed(args, kwargs)


class _Defaults:
    """The arguments of an overload and their defaults."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self._default = {
            each.name: (each.default_value, str(each.type)) for each in arguments if each.has_default_value()
        }
        self._places = {each.name: place for place, each in enumerate(e for e in arguments if not e.kwarg_only)}
        self._names = list(self._places)

    def removed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, by position where they have one, without those that are their defaults."""
        by_place = [name for name in kwargs if name in self._places]
        if by_place:
            args = (*args, *self._given_by_name(len(args), by_place, kwargs))
        count = len(args)
        while 0 < count <= len(self._names) and self._is(self._default.get(self._names[count - 1]), args[count - 1]):
            count -= 1
        kept = {
            name: value
            for name, value in kwargs.items()
            if name not in self._places and not self._is(self._default.get(name), value)
        }
        return args[:count], kept

    def _given_by_name(self, count: int, names: list[str], kwargs: dict[str, Any]) -> list[Any]:
        last = max(self._places[name] for name in names)
        return [kwargs[n] if n in kwargs else self._default[n][0] for n in self._names[count : last + 1]]

    @staticmethod
    def _is(default: tuple[Any, str] | None, value: Any) -> bool:
        if default is None:
            return False
        expected, kind = default
        if kind == "float" and type(value) is int:
            value = float(value)
        if isinstance(expected, list):
            return (
                isinstance(value, (list, tuple))
                and [*map(type, value)] == [*map(type, expected)]
                and [*value] == expected
            )
        return type(value) is type(expected) and isinstance(value, _PLAIN) and value == expected


_PLAIN = (int, float, complex, str, type(None))


def _places_of(schema: Any) -> tuple[str, ...]:
    """The options that PyTorch's functions state of each tensor that they make; none for other operators."""
    named = [each.name for each in schema.arguments if each.kwarg_only]
    if not {"dtype", "layout", "device", "pin_memory"} <= set(named) or schema.name in ("aten::_to_copy", "aten::to"):
        return ()
    like = any(str(each.type) == "Tensor" for each in schema.arguments)
    return ("pin_memory",) if like else ("device", "pin_memory")


def run_call(func: Any, args: Sequence[Any]) -> Any:
    """The overload that runs for a call which is shown as one of `func`: that for a number, where there is one; see `seen_call`."""
    return _for_number(func) if len(args) > 1 and isinstance(args[1], (int, float, complex)) else func


@functools.cache
def _for_number(func: Any) -> Any:
    packet = func.overloadpacket
    for name in packet.overloads():
        if getattr(packet, name)._handle.__dict__.get("seen_as") == func._overloadname:
            return getattr(packet, name)
    return func


def ask(handle: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call by the innermost mode, or by the class of an argument."""
    func, args, kwargs = seen_call(handle, args, kwargs)
    overloaded = _overloaded(args, kwargs)
    types = tuple(map(type, overloaded))
    rules = handle.__dict__.get("torch_dispatch_rules", {})  # from torch.library.register_torch_dispatch
    if _state.modes:
        with popped() as mode, composing(False):
            rule = rules.get(type(mode))
            if rule is not None:
                result = rule(mode, func, types, args, kwargs)
            else:
                handler = mode.__torch_dispatch__
                if isinstance(getattr(handler, "__self__", None), type):
                    raise RuntimeError(
                        "Defining your mode's `__torch_dispatch__` as a classmethod is not supported, please make it a plain method"
                    )
                result = handler(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in overloaded:
        rule = rules.get(type(value))
        if rule is not None:
            result = rule(type(value), func, types, args, kwargs)
        else:
            result = value.__torch_dispatch__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(_nobody(func, types))


def _nobody(func: Any, types: tuple[Any, ...]) -> str:
    name = str(func)
    name = name if name.startswith("torch.") else f"torch._ops.{name}"
    return (
        f"Multiple dispatch failed for '{name}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        + "".join(f"  - tensor subclass {kind}\n" for kind in types)
        + "".join(f"  - mode object {mode}\n" for mode in _state.modes)
        + "\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


# What the class of a tensor is asked by way of which operator.
_QUESTIONS = {
    "contiguity": "is_contiguous",
    "count": "sym_numel",
    "dimensions": "dim",
    "offset": "sym_storage_offset",
    "sizes": "sym_size",
    "strides": "sym_stride",
}


def _asked(tensor: Any, what: str, more: Any) -> Any:
    """The answer of a tensor's class to a question about its sizes or strides; None where the tensor's own will do.

    `more` is the dimension or memory format that is asked about, or None.
    """
    if _C._tls_keys()[1] & _PYTHON:  # within DisableTorchDispatch
        return None
    if what == "length":
        if not tensor.dim():
            raise TypeError("len() of a 0-d tensor")
        return tensor.shape[0]
    if what == "dimensions":
        return int(_of_kind(int, what, _answer(tensor, what)))
    if what == "contiguity":
        answer = _answer(tensor, what) if more is None else _answer(tensor, what, "memory_format", more)
        return None if answer is None else _of_kind(bool, what, answer)
    if what not in ("sizes", "strides"):
        return _answer(tensor, what)
    if what == "sizes" and more is not None:
        wrap_dim(more, tensor.dim(), wrap_scalar=False)
    answer = _answer(tensor, what)
    if answer is None:
        return None
    if not isinstance(answer, (list, tuple)):
        raise RuntimeError(f"{'sym_size' if what == 'sizes' else 'sym_strides'} must be a list or a tuple")
    if more is not None:
        wrap_dim(more, len(answer), wrap_scalar=False)
        return answer[more]
    return Size(answer) if what == "sizes" else tuple(answer)


def _answer(tensor: Any, what: str, overload: str = "", *more: Any) -> Any:
    name, kind = _QUESTIONS[what], type(tensor)
    func = overload_of(_C._find_operator(f"aten::{name}", overload))
    answer = kind.__torch_dispatch__(func, (kind,), (tensor, *more), {})
    if answer is NotImplemented:
        raise TypeError(_nobody(f"torch.ops.aten.{name}", (kind,)))
    return answer


def _of_kind(kind: type, what: str, answer: Any) -> Any:
    if not isinstance(answer, kind):
        raise RuntimeError(
            f"{_QUESTIONS[what]} returned invalid type {type(answer).__name__}, expected {kind.__name__}"
        )
    return answer


_C._set_key_handler("Python", ask)
_C._set_asker(_asked)
_C._DisableTorchDispatch = DisableTorchDispatch
