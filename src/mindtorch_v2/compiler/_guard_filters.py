"""Filters of guards: which of the things that a graph depends on a program wants looked at before the graph is used again.

Each takes a list of entries, one a guard, and says for each whether it is kept. `torch.compile` here keeps all guards, whatever
the filter says: a graph that is checked more than it was asked to is still the right one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
]


def keep_portable_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep guards on tensors that are no globals, on sizes and on the global state (grad mode and the like).

    >>> import types
    >>> entry = types.SimpleNamespace(guard_type="TENSOR_MATCH", is_global=True)
    >>> torch.compiler.keep_portable_guards_unsafe([entry])
    [False]
    """
    return [
        each.guard_type in ("GLOBAL_STATE", "SHAPE_ENV") or (each.guard_type == "TENSOR_MATCH" and not each.is_global)
        for each in guard_entries
    ]


def keep_tensor_guards_unsafe(guard_entries: Sequence[Any], keep_parameters: bool = False) -> list[bool]:
    """Keep guards on tensors; those on parameters with `keep_parameters` only.

    >>> import types
    >>> entry = types.SimpleNamespace(guard_type="TENSOR_MATCH", value=torch.nn.Parameter(torch.ones(1)))
    >>> torch.compiler.keep_tensor_guards_unsafe([entry])
    [False]
    >>> torch.compiler.keep_tensor_guards_unsafe([entry], keep_parameters=True)
    [True]
    """
    from mindtorch_v2.nn import Parameter

    return [
        each.guard_type == "TENSOR_MATCH" and (keep_parameters or not isinstance(each.value, Parameter))
        for each in guard_entries
    ]


def skip_all_guards_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep no guard.

    >>> def double(x):
    ...     return x * 2
    >>> compiled = torch.compile(double, options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe})
    >>> compiled(torch.ones(2))
    tensor([2., 2.])
    """
    return [False for _ in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep guards but those on modules, the library's and the program's own.

    >>> torch.compiler.skip_guard_on_all_nn_modules_unsafe([])
    []
    """
    return [not each.orig_guard.source.is_unspecialized_nn_module() for each in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep guards but those on globals.

    >>> import types
    >>> torch.compiler.skip_guard_on_globals_unsafe([types.SimpleNamespace(is_global=True)])
    [False]
    """
    return [not each.is_global for each in guard_entries]


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries: Sequence[Any]) -> list[bool]:
    """Keep guards but those on modules of `torch.nn`.

    >>> torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe([])
    []
    """
    return [not each.orig_guard.source.is_unspecialized_builtin_nn_module() for each in guard_entries]
