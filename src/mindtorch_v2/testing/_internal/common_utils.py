"""A test case that compares tensors, and tests that run once for each of several values."""

from __future__ import annotations

import functools
import itertools
import unittest
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import mindtorch_v2 as torch

__all__ = ["TestCase", "instantiate_parametrized_tests", "parametrize", "run_tests", "subtest"]

run_tests = unittest.main


class TestCase(unittest.TestCase):
    """unittest's, whose `assertEqual` takes tensors, and what holds them."""

    def assertEqual(self, first: Any, second: Any, msg: Any = None, **options: Any) -> None:
        """Equal, or for tensors and numbers as near as `torch.testing.assert_close` asks; `atol` and `rtol` are its own."""
        exact, device = options.pop("exact_dtype", True), options.pop("exact_device", False)
        known = {name: options[name] for name in ("atol", "rtol", "equal_nan") if name in options}
        known.setdefault("equal_nan", True)
        if _has_tensors(first) or _has_tensors(second) or "atol" in known:
            torch.testing.assert_close(first, second, msg=msg, check_dtype=exact, check_device=device, **known)
        else:
            super().assertEqual(first, second, msg)


def _has_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(each) for each in value)
    if isinstance(value, dict):
        return any(_has_tensors(each) for each in value.values())
    return isinstance(value, torch.Tensor)


class subtest:
    """A value, or a tuple of values, of `parametrize` with a name of its own."""

    def __init__(self, arg_values: Any, name: str | None = None) -> None:
        self.arg_values, self.name = arg_values, name


class parametrize:
    """Decorator: the test runs for each of `arg_values`, which are tuples where `arg_str` names several arguments.

    Args:
        arg_str: names of arguments, with commas between them.
        arg_values: a value (or tuple) for each test.
        name_fn: a function of the values that gives the last part of the test's name.
    """

    def __init__(self, arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None) -> None:
        self.names = [name.strip() for name in arg_str.split(",") if name.strip()]
        self.values, self.name_fn = list(arg_values), name_fn

    def __call__(self, function: Callable) -> Callable:
        function._parametrized = [*getattr(function, "_parametrized", []), self]  # type: ignore[attr-defined]  # (a mark on the function)
        return function

    def cases(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The last part of the name and the arguments of each test."""
        for number, given in enumerate(self.values):
            name, values = (given.name, given.arg_values) if isinstance(given, subtest) else (None, given)
            bound = dict(zip(self.names, values if len(self.names) > 1 else [values], strict=True))
            if name is None:
                name = self.name_fn(*bound.values()) if self.name_fn else _name(bound, number)
            yield name, bound


def _name(bound: dict[str, Any], number: int) -> str:
    """The names and values of arguments; their place instead of a value that is no word or number."""
    parts = []
    for name, value in bound.items():
        plain = isinstance(value, (bool, int, float, str, torch.dtype))
        parts.append(
            f"{name}_{str(value).rpartition('.')[2] if isinstance(value, torch.dtype) else value if plain else number}"
        )
    return "_".join(parts).replace("-", "_").replace(".", "_").replace(" ", "_")


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Put a test for each combination of values in the place of those that `parametrize` marked; the class itself."""
    for name, function in list(vars(generic_cls).items()):
        marks = getattr(function, "_parametrized", None)
        if marks is None:
            continue
        delattr(generic_cls, name)
        for combination in itertools.product(*(mark.cases() for mark in reversed(marks))):
            keywords: dict[str, Any] = {}
            for _, bound in combination:
                keywords |= bound
            setattr(generic_cls, "_".join([name, *(part for part, _ in combination)]), _method(function, keywords))
    return generic_cls


def _method(function: Callable, keywords: dict[str, Any]) -> Callable:
    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **keywords)

    return test
