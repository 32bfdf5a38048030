"""The tables of decompositions, by overload of an operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from mindtorch_v2._ops import OpOverload, OpOverloadPacket

__all__ = [
    "decomposition_table",
    "global_decomposition_table",
    "overloads_of",
    "register_decomposition",
    "remove_decompositions",
]

global_decomposition_table: defaultdict = defaultdict(dict)
decomposition_table = global_decomposition_table["post_autograd"]
"""The decompositions that `register_decomposition` has registered: OpOverload -> function."""


def overloads_of(op: OpOverloadPacket | OpOverload) -> list:
    """The overloads of a packet, or the one given. TypeError for what is no operator."""
    if isinstance(op, OpOverload):
        return [op]
    if isinstance(op, OpOverloadPacket):
        return [getattr(op, name) for name in op.overloads()]
    raise TypeError(f"expected an operator of torch.ops, got {type(op)}")


def register_decomposition(
    aten_op: OpOverload | OpOverloadPacket | list[Any],
    registry: dict[Any, Any] | None = None,
    *,
    type: str = "post_autograd",
    unsafe: bool = False,
) -> Callable[..., Any]:
    """A decorator: the function says what an operator, or each of several, does in terms of others.

    RuntimeError for an operator that has a decomposition in that registry. TypeError for what is no operator.
    """
    if type not in ("post_autograd", "pre_autograd", "meta"):
        raise AssertionError(f"type must be one of post_autograd, pre_autograd, meta, got {type}")
    table = global_decomposition_table[type] if registry is None else registry
    ops = aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            for overload in overloads_of(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = function
        return function

    return register


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Any) -> None:
    """Take these operators out of a table."""
    for op in aten_ops:
        for overload in overloads_of(op):
            decompositions.pop(overload, None)
