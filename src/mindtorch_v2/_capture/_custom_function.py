"""Autograd functions in Python: one node each, whose forward and backward are traced for what they read."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder
    from mindtorch_v2._core.autograd.function import Function


__all__ = ["apply"]


class Context:
    """The context by which forward tells backward, while both are traced."""

    def __init__(self, needs: Sequence[bool]) -> None:
        self.needs_input_grad = needs
        self.to_save = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward."""
        self.to_save = tensors

    @property
    def saved_tensors(self) -> Any:
        """The tensors that were kept."""
        return self.to_save

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Outputs without gradient."""

    def set_materialize_grads(self, value: Any) -> None:
        """Whether gradients that are not there are zeros."""


def apply(trace: Recorder, cls: type[Function], args: Any, kwargs: dict[str, Any]) -> Any:
    """`cls.apply(*args, **kwargs)` as a node.

    A compiler may look into it once and keep what it saw: so whatever the user's forward and backward read is guarded, by
    running their instrumented copies. What those record is taken away again.
    """
    inputs, writes, versions = len(trace.graph.inputs), trace.writes.due(), _versions(args)
    with trace.graph.taken_back():
        _run(trace, cls, args, kwargs)
    if len(trace.graph.inputs) != inputs:
        trace.refuse(
            f"the autograd function {cls.__name__} reads a tensor that is not its argument", "autograd_function"
        )
    if trace.writes.due() != writes or _versions(args) != versions:
        trace.refuse(f"the autograd function {cls.__name__} writes to its arguments or outside", "autograd_function")
    held = tuple((place, each) for place, each in enumerate(args) if isinstance(each, enum.Enum))
    for _, member in held:
        source = trace.sources.source_of(member)
        if source is not None:
            trace.guards.note("identity", source, member)
    left = [None if isinstance(each, enum.Enum) else each for each in args]
    return trace.calls.leaf(_function(cls, held), left, kwargs)


@functools.cache
def _function(cls, held):
    """`cls.apply` under a name that a graph's code can have, with the arguments `held`, (place, value), of which it has no literals."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        given = [*args]
        for place, value in held:
            given[place] = value
        return cls.apply(*given, **kwargs)

    apply.__name__ = apply.__qualname__ = f"{cls.__name__}_apply"
    apply.__module__ = cls.__module__
    return apply


def _versions(args: Sequence[Any]) -> list[int]:
    return [a._version for a in args if isinstance(a, torch.Tensor)]


def _run(trace: Recorder, cls, args, kwargs) -> None:
    needs = tuple(isinstance(a, torch.Tensor) and a.requires_grad for a in args)
    context = Context(needs)
    grad = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        # forward may give an argument back: then what stands for it must not be taken for the argument.
        given = [
            trace.graph.record("call_method", "view_as", (a, a), {}) if isinstance(a, torch.Tensor) else a for a in args
        ]
        forward = trace.attributes.get(cls, "forward")
        if cls.setup_context is not torch.autograd.Function.setup_context:
            outputs = trace.calls.call(forward, *given, **kwargs)
            trace.calls.call(trace.attributes.get(cls, "setup_context"), context, tuple(given), outputs)
        else:
            outputs = trace.calls.call(forward, context, *given, **kwargs)
        if not any(needs):
            return
        grads = [
            trace.graph.record("call_function", torch.empty_like, (each,), {})
            if isinstance(each, torch.Tensor)
            else None
            for each in (outputs if isinstance(outputs, tuple) else (outputs,))
        ]
        name = "vjp" if cls.vjp is not torch.autograd.Function.vjp else "backward"
        trace.calls.call(trace.attributes.get(cls, name), context, *grads)
    finally:
        torch._C._set_grad_enabled(grad)
