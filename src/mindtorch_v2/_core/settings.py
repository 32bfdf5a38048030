"""Modules of settings, whose names hold other values for a while."""

from __future__ import annotations

import contextlib
import sys
import unittest
from typing import Any

__all__ = ["Patch"]


class _Changed(contextlib.ContextDecorator):
    """Within the block, the decorated function or the tests of a decorated class, settings of a module have other values."""

    def __init__(self, module: str, changes: dict[str, Any]) -> None:
        self._module, self._changes = module, changes
        self._before: list[list[tuple[Any, str, Any]]] = []

    def _recreate_cm(self) -> _Changed:
        return _Changed(self._module, self._changes)

    def __call__(self, func: Any) -> Any:
        if not isinstance(func, type):
            return super().__call__(func)
        if not issubclass(func, unittest.TestCase):
            raise AssertionError("patch(): a class that is decorated has to be a unittest.TestCase")
        return self._of_tests(func)

    def _of_tests(self, tests: Any) -> Any:
        class Patched(tests):  # type: ignore[misc]  # (the class that is given)
            @classmethod
            def setUpClass(cls) -> None:
                self.__enter__()
                try:
                    super().setUpClass()
                except BaseException:
                    self.__exit__()
                    raise

            @classmethod
            def tearDownClass(cls) -> None:
                try:
                    super().tearDownClass()
                finally:
                    self.__exit__()

        Patched.__name__, Patched.__qualname__ = tests.__name__, tests.__qualname__
        Patched.__module__ = tests.__module__
        return Patched

    def __enter__(self) -> None:
        before: list[tuple[Any, str, Any]] = []
        self._before.append(before)
        try:
            for name, new in self._changes.items():
                *path, last = name.split(".")
                place: Any = sys.modules[self._module]
                for part in path:
                    place = getattr(place, part)
                before.append((place, last, getattr(place, last)))
                setattr(place, last, new)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exception: Any) -> None:
        for place, last, old in reversed(self._before.pop()):
            setattr(place, last, old)


class Patch:
    """`patch` of a module of settings: ``patch("name", value)``, ``patch({"name": value})`` or ``patch(name=value)``.

    A context, and a decorator of functions and of classes of tests. "triton.cudagraphs" is a setting of a class. Raises
    AttributeError for one that does not exist.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __call__(self, changes: str | dict[str, Any] | None = None, value: Any = None, **names: Any) -> _Changed:
        wanted = {changes: value} if isinstance(changes, str) else {**(changes or {}), **names}
        return _Changed(self._module, wanted)
