"""Context managers that also decorate functions and generators."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


_F = TypeVar("_F", bound=Callable[..., Any])


def _wrap_generator(make_context, function):
    # A generator gives up control between its yields: the context holds only while its own code runs.
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        step, argument = generator.send, None
        try:
            while True:
                try:
                    with make_context():
                        value = step(argument)
                except StopIteration as end:
                    return end.value
                try:
                    sent = yield value
                except GeneratorExit:
                    with make_context():
                        generator.close()
                    raise
                except BaseException:  # noqa: BLE001  (thrown into the generator, whatever it is)
                    step, argument = generator.throw, sys.exception()
                else:
                    step, argument = generator.send, sent
        finally:
            generator.close()

    return wrapper


def context_decorator(ctx: Callable[..., Any], func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` so wrapped that each call runs inside the context `ctx`, or `ctx()` if that is callable."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous "
            "which interface to use."
        )
    make_context = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(
            "Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have "
            "the context manager applied; additionally, decorating a class at definition-site will prevent use of the "
            "identifier as a conventional type. To specify which methods to decorate, decorate each of them "
            "individually."
        )
    if inspect.isgeneratorfunction(func):
        return _wrap_generator(make_context, func)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with make_context():
            return func(*args, **kwargs)

    return wrapper


class _DecoratorContextManager:
    """A context manager whose instances decorate functions; each call gets a fresh clone."""

    def __call__(self, orig_func: _F) -> _F:
        return context_decorator(self.clone, orig_func)  # type: ignore[return-value]  # (of the function's signature)

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_value: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        raise NotImplementedError

    def clone(self) -> Self:
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """The same for classes without parameters, which then decorate with and without parentheses."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
