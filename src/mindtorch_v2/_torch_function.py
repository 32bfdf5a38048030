"""Who takes over a call of an operator's function: the state of `__torch_function__`, and the decision.

The core calls `_handle` before it binds a call in which a mode is active or an argument's class is a subclass of
Tensor; `_handle` returns NotImplemented where nobody takes the call over. `torch.overrides` is the public side.
"""

import contextlib
import threading

from mindtorch_v2 import _C
from mindtorch_v2._tensor import Tensor


class _State(threading.local):
    """The modes of this thread, innermost last, and whether subclasses are asked."""

    def __init__(self):
        self.modes = []
        self.subclasses_disabled = False


_state = _State()


# What a slot of Python's operators runs, by identity -> the method of Tensor that PyTorch names instead.
ANNOUNCED = {}


class DisableTorchFunctionSubclass:
    """A context in which `__torch_function__` of classes is not asked; that of modes still is."""

    def __enter__(self):
        self._before = _state.subclasses_disabled
        _state.subclasses_disabled = True

    def __exit__(self, *exception):
        _state.subclasses_disabled = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which neither classes nor modes are asked."""

    def __enter__(self):
        super().__enter__()
        self._disabled = _C._disable_function_overrides(True)

    def __exit__(self, *exception):
        _C._disable_function_overrides(self._disabled)
        super().__exit__(*exception)


def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """`__torch_function__` of classes that do not want to be asked: `func` itself."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _default_torch_function(cls, func, types, args=(), kwargs=None):
    """`__torch_function__` of Tensor, which subclasses inherit: run the function, give results the subclass back.

    NotImplemented where a class takes part that `cls` does not derive from: that one is to decide.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return _converted(result, cls)


def _converted(result, cls):
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, tuple):
        items = tuple(_converted(item, cls) for item in result)
        return type(result)(items) if hasattr(result, "_fields") else items
    if isinstance(result, list):
        return [_converted(item, cls) for item in result]
    return result


def _push(mode):
    _state.modes.append(mode)
    _C._change_function_modes(1)


def _pop():
    _C._change_function_modes(-1)
    return _state.modes.pop()


@contextlib.contextmanager
def _pop_mode_temporarily():
    mode = _pop()
    try:
        yield mode
    finally:
        _push(mode)


def _overrides(value):
    """Whether the class of `value` takes calls over by a `__torch_function__` of its own."""
    kind = type(value)
    if kind is Tensor:
        return False
    method = getattr(kind, "__torch_function__", None)
    return method is not None and method is not _disabled_torch_function_impl


def values_among(args, kwargs):
    """The arguments, with lists and tuples taken apart."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value


def _get_overloaded_args(relevant_args):
    """The arguments whose classes take calls over, one for each class: subclasses first, else in order."""
    return [] if _state.subclasses_disabled else subclasses_first(filter(_overrides, relevant_args))


def subclasses_first(values):
    """A value of each class, the order in which classes are asked: subclasses before what they derive from, else as given."""
    found = []
    for value in values:
        if not any(type(value) is type(other) for other in found):
            place = next((i for i, other in enumerate(found) if issubclass(type(value), type(other))), len(found))
            found.insert(place, value)
    return found


def _handle(func, args, kwargs):
    """Ask the modes and classes about the call `func(*args, **kwargs)`; NotImplemented if there is nobody to ask."""
    overloaded = _get_overloaded_args(values_among(args, kwargs))
    if not overloaded and not _state.modes:
        return NotImplemented
    if args and isinstance(args[0], Tensor):  # in reflected forms the tensor comes second
        func = ANNOUNCED.get(id(func), func)
    return _ask(func, overloaded, args, kwargs)


def has_torch_function(relevant_args):
    """Whether a mode is active or one of the arguments' classes takes calls over."""
    return bool(_state.modes) or bool(_get_overloaded_args(relevant_args))


def hand_over(public_api, relevant_args, *args, **kwargs):
    """Hand the call `public_api(*args, **kwargs)` to the modes and to the classes of `relevant_args`.

    Raises TypeError if all of them decline.
    """
    return _ask(public_api, _get_overloaded_args(relevant_args), args, kwargs)


def hand_over_locals(public_api, arguments):
    """Hand over a call of `public_api`, of which `arguments` are the parameters: `locals()` where it begins.

    What has no default is passed by position and the rest by keyword, as PyTorch's functions pass it. For functions
    without `*args` and `**kwargs`.
    """
    code = public_api.__code__
    required = code.co_argcount - len(public_api.__defaults__ or ())
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    args = tuple(arguments[name] for name in names[:required])
    kwargs = {name: arguments[name] for name in names[required:]}
    return _ask(public_api, _get_overloaded_args(values_among(args, kwargs)), args, kwargs)


# `overridden(*args)`: `has_torch_function(args)`, at the price of a look at the types where nobody asks. What a function
# that is written in Python begins with, so that a class sees it and not what it is made of.
overridden = _C._overridden


def _ask(func, overloaded, args, kwargs):
    types = tuple(map(type, overloaded))
    if _state.modes:
        with _pop_mode_temporarily() as mode:
            result = mode.__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in overloaded:
        result = type(value).__torch_function__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    text = f"no implementation found for '{_describe(func)}' on types that implement __torch_function__: {list(types)}"
    if _state.modes:
        text += f" nor in mode {_state.modes[-1]}"
    raise TypeError(text)


def _describe(func):
    return f"{getattr(func, '__module__', None) or 'torch'}.{getattr(func, '__name__', func)}"


Tensor.__torch_function__ = classmethod(_default_torch_function)
_C._set_function_handler(_handle, has_torch_function)
