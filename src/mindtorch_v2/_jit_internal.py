"""Marks of TorchScript under the names that libraries import from here; scripts run as Python, so that marks change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2.jit import Final, Future, export, ignore, is_scripting, unused

__all__ = ["Final", "Future", "boolean_dispatch", "export", "ignore", "is_scripting", "unused"]


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two, as its argument `arg_name`, the `arg_index`-th, says."""

    def function(*args: Any, **kwargs: Any) -> Any:
        flag = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)

    function.__doc__ = if_true.__doc__ or if_false.__doc__
    function.__name__, function.__module__ = func_name, module_name
    return function


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a method that a scripted module has too; returns it."""
    return fn
