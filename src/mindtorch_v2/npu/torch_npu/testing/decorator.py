"""Tests that are made for dtypes and storage formats."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["Dtypes", "Formats", "instantiate_tests"]


class Dtypes:
    """Decorator that says which dtypes a test is for; RuntimeError for what is none."""

    def __init__(self, *dtypes: torch.dtype) -> None:
        if not dtypes or not all(isinstance(each, torch.dtype) for each in dtypes):
            raise RuntimeError(f"Dtypes(): dtypes were expected, but it got {dtypes}")
        self.dtypes = dtypes

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        function.dtypes = self.dtypes  # type: ignore[attr-defined]  # (a mark on the test)
        return function


class Formats:
    """Decorator that says which storage formats, by their numbers, a test is for; RuntimeError without one."""

    def __init__(self, *formats: int) -> None:
        if not formats:
            raise RuntimeError("Formats(): at least one format was expected")
        self.formats = formats

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        function.formats = self.formats  # type: ignore[attr-defined]  # (a mark on the test)
        return function


def instantiate_tests(cls: type) -> type:
    """Class decorator that makes a test of each combination of what `Dtypes` and `Formats` say.

    A value is passed by the parameter whose name has "dtype" or "format" in it; `device` is the NPU.
    """
    for name, function in list(vars(cls).items()):
        marked = {kind: getattr(function, kind + "s") for kind in ("dtype", "format") if hasattr(function, kind + "s")}
        if not marked:
            continue
        parameters = inspect.signature(function).parameters
        for values in itertools.product(*marked.values()):
            given: dict[str, Any] = {"device": "npu"} if "device" in parameters else {}
            given |= {
                next(each for each in parameters if kind in each): value
                for kind, value in zip(marked, values, strict=True)
            }
            made = "_".join([name, *(str(value).rpartition(".")[2] for value in values)])
            setattr(cls, made, _named(function, made, given))
        delattr(cls, name)
    return cls


def _named(function: Callable[..., Any], name: str, given: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **given)

    test.__name__ = name
    return test
