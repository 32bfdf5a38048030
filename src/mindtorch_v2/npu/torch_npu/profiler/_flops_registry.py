"""Functions that count the floating point operations of a call, by the name of what is called."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

__all__ = ["get_flop_func", "get_npu_flop_targets", "register_npu_flop"]

logger = logging.getLogger(__name__)

_Formula = Callable[..., Any]
_default_npu_flop_registry: dict[str, tuple[_Formula, str | None]] = {}
_npu_flop_registry: dict[str, tuple[_Formula, str | None]] = {}  # the program's own, which come first


def register_npu_flop(
    target: str | None = None, op_name: str | None = None, *, is_default: bool = False
) -> Callable[[_Formula], _Formula]:
    """Let a function count the operations of calls of `target` ("module:attribute").

    It gets the arguments of the call and gives a number, or None where there is none. `op_name`, the attribute or the function's
    name without it, is what ranges of the profile are called; a program's own formula needs no target where the name has one.

    >>> from mindtorch_v2.npu.torch_npu.profiler._flops_registry import get_flop_func, register_npu_flop
    >>> @register_npu_flop("my_kernels:outer")
    ... def outer(left, right):
    ...     return left.numel() * right.numel()
    >>> get_flop_func("outer") is outer
    True
    """

    def register(formula: _Formula) -> _Formula:
        name = op_name or (target.partition(":")[2] if target and ":" in target else formula.__name__)
        registry = _default_npu_flop_registry if is_default else _npu_flop_registry
        if not is_default and name in registry:
            logger.error("register_npu_flop(): there was a formula for %s already; the later one is used", name)
        registry[name] = formula, target
        return formula

    return register


def get_flop_func(op_name: str) -> _Formula | None:
    """The formula of a name: the program's own, or the one that is there; None where there is none."""
    found = _npu_flop_registry.get(op_name) or _default_npu_flop_registry.get(op_name)
    return found[0] if found else None


def get_npu_flop_targets() -> dict[str, str]:
    """The functions that are counted, by name."""
    both = [*_default_npu_flop_registry.items(), *_npu_flop_registry.items()]
    return {name: target for name, (_, target) in both if target is not None}
