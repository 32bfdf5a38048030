"""Marks that programs give functions for the compiler, and questions about the compiler. The capture asks here."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mindtorch_v2._dynamo import _control
from mindtorch_v2._dynamo.compiled import forget_all
from mindtorch_v2._dynamo.eval_frame import innermost_fn
from mindtorch_v2._dynamo.utils import counters

__all__ = [
    "ALLOWED",
    "DISALLOWED",
    "SUBSTITUTES",
    "allow_in_graph",
    "assume_constant_result",
    "disallow_in_graph",
    "forbid_in_graph",
    "is_compiling",
    "reset",
    "set_stance",
    "substitute_in_graph",
]


def is_compiling() -> Any:
    """Whether the running code is being captured for a graph.

    >>> torch.compiler.is_compiling()
    False
    """
    return _control.is_capturing()


def reset() -> None:
    """Forget every graph of every compiled function, and the counters.

    >>> torch.compiler.reset()
    """
    forget_all()
    counters.clear()


def allow_in_graph(fn: Any) -> Any:
    """Say that a function (or each of a list or tuple) may be one node of a graph, unseen inside. Returns it.

    Its result must depend on its arguments alone, and it must not write to anything outside.

    >>> torch.compiler.allow_in_graph(torch.add)(torch.ones(1), 1)
    tensor([2.])
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise TypeError(f"allow_in_graph expects a callable, got {type(fn).__name__}")
    ALLOWED[innermost_fn(fn)] = True
    return fn


def assume_constant_result(fn: Any) -> Any:
    """Say that a function gives the same at each call with the same arguments: graphs keep its result. Returns it.

    >>> import math
    >>> @torch.compiler.assume_constant_result
    ... def scale():
    ...     return math.pi
    >>> torch.compile(lambda x: x * scale(), backend="eager")(torch.ones(2))
    tensor([3.1416, 3.1416])
    """
    fn._dynamo_marked_constant = True
    return fn


ALLOWED: dict = {}
"""The functions that `allow_in_graph` was given; the capture asks."""

SUBSTITUTES: dict = {}
"""Function -> what is captured in its place, from `substitute_in_graph`; the capture asks."""


def substitute_in_graph(
    original_fn: Callable[..., Any], *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Any:
    """A decorator: the function is what is captured in place of `original_fn`, which itself is left alone.

    TypeError if its parameters are not those of the original, unless `skip_signature_check`.

    >>> import operator
    >>> @torch.compiler.substitute_in_graph(operator.indexOf)
    ... def index_of(a, b, /):
    ...     return [each == b for each in a].index(True)
    >>> torch.compile(lambda x: x + operator.indexOf([5, 7], 7), backend="eager")(torch.ones(1))
    tensor([2.])
    """
    if not callable(original_fn):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)!r}")

    def decorate(traceable_fn: Callable[..., Any]) -> Any:
        if not inspect.isfunction(traceable_fn):
            raise TypeError(f"@substitute_in_graph(...) expects a function but got {type(traceable_fn)!r}")
        if not skip_signature_check:
            try:
                wanted = inspect.signature(original_fn)
            except (TypeError, ValueError):
                wanted = None
            if wanted is not None:
                names = [(p.name, p.kind) for p in wanted.parameters.values()]
                found = [(p.name, p.kind) for p in inspect.signature(traceable_fn).parameters.values()]
                if names != found:
                    raise TypeError(
                        f"Signature mismatch between {original_fn} and {traceable_fn}: "
                        f"{wanted} != {inspect.signature(traceable_fn)}"
                    )
        SUBSTITUTES[original_fn] = traceable_fn
        return traceable_fn

    return decorate


def disallow_in_graph(fn: Any) -> Any:
    """Say that a call of a function (or of each of a list) ends a graph; returns it."""
    if isinstance(fn, (list, tuple)):
        return [disallow_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("disallow_in_graph expects a callable")
    DISALLOWED[fn] = True
    return fn


def forbid_in_graph(fn: Any) -> Any:
    """Say that a call of a function (or of each of a list) in a compiled program is an AssertionError; returns it."""
    if isinstance(fn, (list, tuple)):
        return [forbid_in_graph(each) for each in fn]
    if not callable(fn):
        raise AssertionError("forbid_in_graph applies only to callables")
    fn._dynamo_forbidden = True
    return fn


DISALLOWED: dict = {}
"""The functions that `disallow_in_graph` was given; the capture asks."""


class set_stance:  # PyTorch's name
    """Set what compiled functions do from here on: a call, a context manager or a decorator.

    "default"; "force_eager": they run eagerly; "eager_on_recompile": eagerly where no graph fits; "fail_on_recompile":
    that is an error; "eager_then_compile": the first call is eager; "aot_eager_then_compile": the first one goes through
    the back end `aot_eager`. `force_backend` is used in place of the functions' own, with "default" only.
    RuntimeError for another stance, or if it is set while a program is captured.

    >>> f = torch.compile(lambda x: x + 1, backend="eager")
    >>> with torch.compiler.set_stance("force_eager"):
    ...     f(torch.ones(1))
    tensor([2.])
    """

    _dynamo_forbidden = True

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        if stance not in _control.STANCES:
            raise RuntimeError(f"expected stance to be one of {_control.STANCES}, got {stance!r}")
        if skip_guard_eval_unsafe:
            raise NotImplementedError(
                "set_stance(skip_guard_eval_unsafe=True) is not implemented in mindtorch_v2: guards are checked"
            )
        if force_backend is not None and stance != "default":
            raise RuntimeError("force_backend can only be set if stance is 'default'")
        if _control.is_capturing():
            raise RuntimeError("set_stance(): the stance cannot be changed in a function that is compiled")
        self._new = _control._Stance(stance, force_backend)
        self._before = _control.set_current(self._new)

    @property
    def stance(self) -> Any:
        """The name of the stance."""
        return self._new.name

    def __enter__(self) -> None:
        _control.set_current(self._new)

    def __exit__(self, *exception: Any) -> None:
        _control.set_current(self._before)

    def __call__(self, fn: Any) -> Any:
        _control.set_current(self._before)

        @functools.wraps(fn)
        def with_stance(*args: Any, **kwargs: Any) -> Any:
            before = _control.set_current(self._new)
            try:
                return fn(*args, **kwargs)
            finally:
                _control.set_current(before)

        return with_stance
