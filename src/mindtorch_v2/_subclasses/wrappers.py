"""Tensors of classes that wrap others: taken apart by `__tensor_flatten__`, and put together of other parts.

Such a class says the names of the attributes that hold its tensors, and a context; with these, `__tensor_unflatten__` makes
the like again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass

__all__ = ["Form", "rebuilt", "taken_apart"]


class Form:
    """All of a wrapper but its innermost tensors. Equal forms put equal parts together to the like."""

    def __init__(self, value: Any) -> None:
        self.kind = type(value)
        self.names, self.context = value.__tensor_flatten__()
        self.size, self.stride = value.size(), value.stride()
        self.parts = [form_of(getattr(value, name)) for name in self.names]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Form)
            and self.kind is other.kind
            and (self.names, self.size, self.stride) == (other.names, other.size, other.stride)
            and self.context == other.context
            and self.parts == other.parts
        )

    def made_of(self, tensors: Iterator[Any]) -> Any:
        """The wrapper of the next innermost tensors."""
        inner = {
            name: next(tensors) if part is None else part.made_of(tensors)
            for name, part in zip(self.names, self.parts, strict=True)
        }
        with DisableTorchFunction():
            return self.kind.__tensor_unflatten__(inner, self.context, self.size, self.stride)


def form_of(value: Any) -> Form | None:
    """The form of a wrapper; None for every other value."""
    return Form(value) if is_traceable_wrapper_subclass(value) else None


def _parts(value: Any, form: Form | None) -> Iterator[Any]:
    if form is None:
        yield value
        return
    for name, part in zip(form.names, form.parts, strict=True):
        yield from _parts(getattr(value, name), part)


def taken_apart(values: Sequence[Any]) -> tuple[list[Any], list[Form | None]]:
    """The values with the innermost tensors in the place of wrappers; and the forms, None for what is no wrapper."""
    forms = [form_of(value) for value in values]
    return [part for value, form in zip(values, forms, strict=True) for part in _parts(value, form)], forms


def rebuilt(
    parts: Sequence[Any], forms: Sequence[Form | None], of: Callable[[Any], Any] = lambda part: part
) -> list[Any]:
    """The values again, of parts like those that `taken_apart` gave; `of` is called with each."""
    tensors = map(of, parts)
    return [next(tensors) if form is None else form.made_of(tensors) for form in forms]
