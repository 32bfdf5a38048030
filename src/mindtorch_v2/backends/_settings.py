"""The parts that the settings of the libraries are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


class Settings:
    """A fixed set of named values; setting another name raises AttributeError."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(getattr(type(self), name, None), property):
            super().__setattr__(name, value)
            return
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")


def contextual(set_flags: Callable[..., Any]) -> Callable[..., Any]:
    """The context manager that calls `set_flags` with its arguments, and at the end with what that returned."""

    @contextlib.contextmanager
    def flags(*args: Any, **kwargs: Any) -> Iterator[None]:
        before = set_flags(*args, **kwargs)
        try:
            yield
        finally:
            set_flags(*before)

    flags.__doc__ = set_flags.__doc__
    return flags
