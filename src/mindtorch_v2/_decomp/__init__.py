"""Operators in terms of others: the table that graph passes and `make_fx` take decompositions from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from mindtorch_v2._decomp import (
    _inplace,
    attention,
    activation,
    creation,
    decompositions,
    indexing,
    loss,
    normalization,
    padding,
    pointwise,
    recurrent,
    reduction,
    views,
)  # they register
from mindtorch_v2._dispatch.tags import Tag
from mindtorch_v2._decomp._registry import (
    decomposition_table,
    global_decomposition_table,
    overloads_of,
    register_decomposition,
    remove_decompositions,
)

if TYPE_CHECKING:
    from mindtorch_v2._ops import OpOverload


__all__ = [
    "core_aten_decompositions",
    "decomposition_table",
    "get_decompositions",
    "register_decomposition",
    "remove_decompositions",
]


def _body(op):
    """The composition that an operator is defined by, or None."""
    kernels = op._handle.kernels()
    for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"):
        if callable(kernels.get(key)):
            return kernels[key]
    return None


def get_decompositions(aten_ops: Any, type: str = "post_autograd") -> dict[OpOverload, Callable[..., Any]]:
    """The decompositions of these operators, by overload: what was registered, else what defines a composition.

    Operators that have none are left out.

    >>> import mindtorch_v2 as torch
    >>> list(get_decompositions([torch.ops.aten.silu.default]))
    [<OpOverload(op='aten.silu', overload='default')>]
    """
    table, found = global_decomposition_table[type], {}
    for op in aten_ops:
        for overload in overloads_of(op):
            rule = table.get(overload) or _body(overload)
            if rule is not None:
                found[overload] = rule
    return found


def core_aten_decompositions() -> dict[OpOverload, Callable[..., Any]]:
    """A table of the decompositions of operators that are not among PyTorch's core ones: OpOverload -> function."""
    return {op: rule for op, rule in decomposition_table.items() if Tag.core not in op.tags}
