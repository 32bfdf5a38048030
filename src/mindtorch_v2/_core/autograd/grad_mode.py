"""Switches of recording: no_grad, enable_grad, set_grad_enabled, inference_mode."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from ... import _C

_F = TypeVar("_F", bound=Callable[..., Any])
_GENERATOR = 0x20  # inspect.CO_GENERATOR; the module inspect alone would be a tenth of the package's import


def _is_generator_function(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _GENERATOR)


class _Decorating:
    """A context manager that also decorates functions, generators (each resumption runs inside) and classes."""

    def __call__(self, function: _F) -> _F:
        if isinstance(function, type):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
                "functions or methods. To preserve the current behavior of class decoration, you can directly decorate "
                "the `__init__` method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
        if _is_generator_function(function):
            generating: _F = self._decorate_generator(function)
            return generating

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return decorated  # type: ignore[return-value]  # (it takes what the function takes)

    def _decorate_generator(self, function: Any) -> Any:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            try:
                with self.clone():
                    response = generator.send(None)
                while True:
                    try:
                        request = yield response
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:  # noqa: BLE001  (thrown into the generator, whatever it is)
                        with self.clone():
                            response = generator.throw(error)
                    else:
                        with self.clone():
                            response = generator.send(request)
            except StopIteration as stop:
                return stop.value

        return decorated

    def clone(self) -> Any:
        return type(self)()


class no_grad(_Decorating):
    """Operations in this block are not recorded.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]  # (given a function it returns one)
    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self.prev)


class enable_grad(_Decorating):
    """Operations in this block are recorded, also inside ``no_grad``.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     print((x * 2).requires_grad)
    True
    """

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]  # (given a function it returns one)
    def __new__(cls, function: Any = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)

    def __enter__(self) -> None:
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self.prev)


class set_grad_enabled(_Decorating):
    """Switch recording on or off: at once when called, undone when used as a context manager.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.set_grad_enabled(False):
    ...     print((x * 2).requires_grad)
    False
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _C.is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, function: _F) -> _F:
        _C._set_grad_enabled(self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def __exit__(self, *exc: object) -> None:
        _C._set_grad_enabled(self.prev)

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)


class inference_mode(_Decorating):
    """Like ``no_grad`` and lighter: tensors made inside never take part in recording.

    >>> with torch.inference_mode():
    ...     print(torch.ones(1).is_inference())
    True
    """

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]  # (given a function it returns one)
    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.prev = (_C.is_grad_enabled(), _C.is_inference_mode_enabled())
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, *exc: object) -> None:
        _C._set_inference_mode(self.prev[1])
        _C._set_grad_enabled(self.prev[0])

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


class _Threads(threading.local):
    allowed = True


_threads = _Threads()


def is_multithreading_enabled() -> bool:
    """Whether backward may use several threads, as `set_multithreading_enabled` said on this thread.

    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return _threads.allowed


class set_multithreading_enabled(_Decorating):
    """Say whether backward may use several threads, from the call on; as a context manager, within the block.

    It is remembered, and changes nothing: backward runs on the calling thread.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     print(torch.ones(1))
    tensor([1.])
    """

    def __init__(self, mode: bool) -> None:
        self.mode, self.before = mode, _threads.allowed
        _threads.allowed = mode

    def __enter__(self) -> None:
        _threads.allowed = self.mode

    def __exit__(self, *exc: object) -> None:
        _threads.allowed = self.before

    def clone(self) -> set_multithreading_enabled:
        return type(self)(self.mode)
