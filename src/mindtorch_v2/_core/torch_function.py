"""Who takes over a call of an operator's function: the state of `__torch_function__`, and the decision.

The core calls `_handle` before it binds a call in which a mode is active or an argument's class is a subclass of
Tensor; `_handle` returns NotImplemented where nobody takes the call over. `torch.overrides` is the public side.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MethodWrapperType
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.dtype import Size


class _State(threading.local):
    """The modes of this thread, innermost last, whether subclasses are asked, and whether the next call asks nobody."""

    def __init__(self) -> None:
        self.modes: list[Any] = []
        self.subclasses_disabled = False
        self.skips_next = False


_state = _State()
_plain: type = _C.TensorBase  # the class of tensors of which nobody takes calls over: Tensor, which stands on this file


# What a slot of Python's operators runs, by identity -> the method of Tensor that PyTorch names instead.
ANNOUNCED: dict[int, Any] = {}


_TAKES_MORE = 0x04  # of a function's code: it has `*args`


class DisableTorchFunctionSubclass:
    """A context in which `__torch_function__` of classes is not asked; that of modes still is."""

    def __enter__(self) -> None:
        self._before = _state.subclasses_disabled
        _state.subclasses_disabled = True

    def __exit__(self, *exception: Any) -> None:
        _state.subclasses_disabled = self._before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which neither classes nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        self._disabled = _C._disable_function_overrides(True)

    def __exit__(self, *exception: Any) -> None:
        _C._disable_function_overrides(self._disabled)
        super().__exit__(*exception)


class EnableTorchFunction:
    """Classes and modes are asked again, from when one of these is made until it is let go."""

    def __init__(self) -> None:
        self._before = _state.subclasses_disabled, _C._disable_function_overrides(False)
        _state.subclasses_disabled = False

    def __del__(self) -> None:
        _state.subclasses_disabled, disabled = self._before
        _C._disable_function_overrides(disabled)


def is_all_disabled() -> bool:
    """Whether neither classes nor modes are asked on this thread."""
    disabled = _C._disable_function_overrides(True)
    _C._disable_function_overrides(disabled)
    return bool(disabled)


def _disabled_torch_function_impl(
    func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """`__torch_function__` of classes that do not want to be asked: `func` itself."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


_DISABLED = staticmethod(_disabled_torch_function_impl)
_nowrap: frozenset[Any] = frozenset()  # getters whose results stay what they are
# Methods that tell of a tensor, hand out its numbers or are made of functions that are asked for: modes that do not see
# attributes do not see these.
_UNSEEN = (
    "size stride dim ndimension numel nelement storage_offset element_size data_ptr is_contiguous is_floating_point is_complex "
    "is_signed is_conj is_neg _is_zerotensor is_inference _is_view get_device untyped_storage requires_grad_ retain_grad "
    "numpy tolist item new_tensor __dlpack__ __dlpack_device__ __len__ __bool__ __int__ __index__ is_shared share_memory_ "
    "pin_memory xpu cuda is_pinned register_hook __contains__ __reversed__ dim_order is_set_to storage_type __array_wrap__ "
    "__setstate__ is_distributed __array__ apply_ map_ map2_ lu stft unique unique_consecutive where"
)


@functools.cache
def _unseen() -> frozenset[Any]:
    return frozenset(getattr(_plain, name) for name in _UNSEEN.split())


def _is_passed_by(func: Any) -> bool:
    """Whether the innermost mode is one that does not see attributes, and `func` counts among them."""
    if not _state.modes or _state.modes[-1].sees_attributes:
        return False
    return type(func) is MethodWrapperType or func in _unseen()


def _default_torch_function(
    cls: type, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """`__torch_function__` of Tensor, which subclasses inherit: run the function, give results the subclass back.

    NotImplemented where a class takes part that `cls` does not derive from: that one is to decide.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in _nowrap else _converted(result, cls)


def settle_subclass(cls: type) -> None:
    """Decide what a new subclass of Tensor inherits: one that takes over operators is not asked about functions.

    Unless it says itself what `__torch_function__` does: its results are then as its `__torch_dispatch__` gives them.
    """
    takes_operators = getattr(cls, "__torch_dispatch__", None) is not getattr(_plain, "__torch_dispatch__", None)
    inherited = getattr(getattr(cls, "__torch_function__", None), "__func__", None)
    if takes_operators and inherited is _default_torch_function:
        cls.__torch_function__ = _DISABLED  # type: ignore[attr-defined]  # (a subclass of Tensor)


def _converted(result: Any, cls: type) -> Any:
    if cls is _plain:
        return result
    if isinstance(result, _C.TensorBase) and not isinstance(result, cls):
        return result.as_subclass(cls)  # type: ignore[attr-defined]  # (a tensor, as it has just been asked)
    if isinstance(result, tuple) and type(result) is not Size:
        items = tuple(_converted(item, cls) for item in result)
        return type(result)(items) if hasattr(result, "_fields") else items
    if isinstance(result, list):
        return [_converted(item, cls) for item in result]
    return result


def modes() -> list[Any]:
    """The modes of this thread, innermost last."""
    return _state.modes


def subclasses_disabled() -> bool:
    """Whether the classes of arguments are not asked on this thread."""
    return _state.subclasses_disabled


def _push(mode: Any) -> None:
    _state.modes.append(mode)
    _C._change_function_modes(1, int(mode.sees_attributes))


def _pop() -> Any:
    mode = _state.modes.pop()
    _C._change_function_modes(-1, -int(mode.sees_attributes))
    return mode


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    mode = _pop()
    try:
        yield mode
    finally:
        _push(mode)


def _overrides(value: Any) -> bool:
    """Whether the class of `value` takes calls over by a `__torch_function__` of its own."""
    kind = type(value)
    if kind is _plain:
        return False
    method = getattr(kind, "__torch_function__", None)
    return method is not None and method is not _disabled_torch_function_impl


def values_among(args: Iterable[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """The arguments, with lists and tuples taken apart."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, (tuple, list)):
            yield from value
        else:
            yield value


def _get_overloaded_args(relevant_args: Iterable[Any]) -> list[Any]:
    """The arguments whose classes take calls over, one for each class: subclasses first, else in order."""
    return [] if _state.subclasses_disabled else subclasses_first(filter(_overrides, relevant_args))


def subclasses_first(values: Iterable[Any]) -> list[Any]:
    """A value of each class, the order in which classes are asked: subclasses before what they derive from, else as given."""
    found: list[Any] = []
    for value in values:
        if not any(type(value) is type(other) for other in found):
            place = next((i for i, other in enumerate(found) if issubclass(type(value), type(other))), len(found))
            found.insert(place, value)
    return found


def _handle(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Ask the modes and classes about the call `func(*args, **kwargs)`; NotImplemented if there is nobody to ask."""
    if _skipped():
        return NotImplemented
    overloaded = _get_overloaded_args(values_among(args, kwargs))
    if not overloaded and not _state.modes:
        return NotImplemented
    if _is_passed_by(func):
        with _pop_mode_temporarily():  # to the next one out
            return _handle(func, args, kwargs)
    if args and isinstance(args[0], _C.TensorBase):  # in reflected forms the tensor comes second
        func = ANNOUNCED.get(id(func), func)
    return _ask(func, overloaded, args, kwargs, UserWarning)  # as PyTorch's functions in C++


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is active or one of the arguments' classes takes calls over.

    >>> torch.overrides.has_torch_function((torch.ones(1),))
    False
    """
    if not isinstance(relevant_args, Iterable):
        raise TypeError("expected a sequence")
    return not _skipped() and (bool(_state.modes) or bool(_get_overloaded_args(relevant_args)))


def redispatch_function(
    func: Callable[..., Any], types: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None
) -> Any:
    """`func(*args, **kwargs)` without asking modes and classes about this call, though about those that it makes.

    A `__torch_function__` that runs `func` this way sees the calls inside it too.

    >>> class Named(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> _ = torch.add(torch.ones(1).as_subclass(Named), 1)
    add
    """
    before, _state.skips_next = _state.skips_next, True
    try:
        return func(*args, **(kwargs or {}))
    finally:
        _state.skips_next = before


def _skipped() -> bool:
    """Whether nobody is to be asked about this call; said once."""
    skipped, _state.skips_next = _state.skips_next, False
    return skipped


def hand_over(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Hand the call `public_api(*args, **kwargs)` to the modes and to the classes of `relevant_args`.

    Raises TypeError if all of them decline.

    >>> from mindtorch_v2.overrides import handle_torch_function, has_torch_function
    >>> class Length:
    ...     def __init__(self, meters):
    ...         self.meters = meters
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of {args[0].meters} m"
    >>> def double(x):
    ...     if has_torch_function((x,)):
    ...         return handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> double(3), double(Length(3))
    (6, 'double of 3 m')
    """
    return _ask(public_api, _get_overloaded_args(relevant_args), args, kwargs)


def _offer(public_api: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Offer a call of an `@overridable` function to modes and classes; NotImplemented if there is nobody to ask."""
    if _skipped():
        return NotImplemented
    overloaded = _get_overloaded_args(values_among(args, kwargs))
    if not overloaded and not _state.modes:
        return NotImplemented
    if _is_passed_by(public_api):
        with _pop_mode_temporarily():
            return _offer(public_api, args, kwargs)
    announced = _announced(public_api._function, args, kwargs)
    if announced is None:  # the function itself says what is wrong with the call
        return NotImplemented
    name = getattr(public_api, "__announced__", None)
    if name is not None:
        public_api = public_api.__globals__[name]
    return _ask(public_api, overloaded, *announced)


def _announced(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """A call as PyTorch's functions pass it on: what has no default by position, the rest by keyword; None if it is wrong.

    For functions without `**kwargs` and required keywords.
    """
    code, defaults = function.__code__, function.__defaults__ or ()
    count = code.co_argcount
    names = code.co_varnames[: count + code.co_kwonlyargcount]
    required = count - len(defaults)
    given = dict(zip(names[:count], args, strict=False))
    if given.keys() & kwargs or not kwargs.keys() <= set(names):
        return None
    rest = args[count:]
    if rest and not code.co_flags & _TAKES_MORE:
        return None
    values = dict(zip(names[required:count], defaults, strict=True)) | (function.__kwdefaults__ or {}) | given | kwargs
    if values.keys() != set(names):
        return None
    positional = (*(values[name] for name in names[:required]), *rest)
    return positional, {name: values[name] for name in names[required:]}


def _ask(
    func: Callable[..., Any],
    overloaded: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    warning: type[Warning] = DeprecationWarning,
) -> Any:
    types = tuple(map(type, overloaded))
    if _state.modes:
        with _pop_mode_temporarily() as mode:
            method = mode.__torch_function__
            if isinstance(getattr(method, "__self__", None), type):
                raise RuntimeError(
                    "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method"
                )
            result = method(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in overloaded:
        method, of_class = value.__torch_function__, getattr(type(value), "__torch_function__", None)
        if getattr(method, "__self__", None) is value and of_class is not _disabled_torch_function_impl:
            warnings.warn(
                "Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define "
                "it as a classmethod.",
                warning,
                stacklevel=2,
            )
        result = method(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    text = f"no implementation found for '{_describe(func)}' on types that implement __torch_function__: {list(types)}"
    if _state.modes:
        text += f" nor in mode {_state.modes[-1]}"
    raise TypeError(text)


def _describe(func: Any) -> str:
    return f"{getattr(func, '__module__', None) or 'torch'}.{getattr(func, '__name__', func)}"


def serve(tensor_class: Any) -> None:
    """Let `tensor_class` be Tensor, from which classes inherit their `__torch_function__`."""
    global _plain, _nowrap
    _plain = tensor_class
    _nowrap = frozenset(getattr(tensor_class, name).__get__ for name in ("_base", "grad", "_grad"))
    tensor_class.__torch_function__ = classmethod(_default_torch_function)


_C._set_function_handler(_handle)
_C._set_disabled_torch_function(_disabled_torch_function_impl, _DISABLED)
_C._set_offer(_offer)
