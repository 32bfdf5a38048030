"""Marks in a program that say how the graph engine is to run what is made between them: attributes of GE's operators.

They are operators of the namespace `air`, as torchair's, so that a traced graph holds them where the program had them. Where
operators run one by one they do nothing.
"""

from __future__ import annotations

from typing import Any

from ...._library.registration import Library
from ...._operators.table import aten
from ....fx.node import has_side_effect
from ....library import register_autograd
from .. import apis, attr, graph
from ..registry import register_fx_node_ge_converter

_LIBRARY = Library("air", "FRAGMENT")
_LIBRARY.define("scope_enter(str[] keys, str[] values, bool need_execute=False) -> ()")
_LIBRARY.define("scope_exit(bool need_execute=False) -> ()")
_LIBRARY.define("wait_tensor(Tensor self, Tensor dependency) -> Tensor")
_LIBRARY.impl("scope_enter", lambda keys, values, need_execute=False: None, "CompositeExplicitAutograd")
_LIBRARY.impl("scope_exit", lambda need_execute=False: None, "CompositeExplicitAutograd")
# One by one the operators of a stream are in the order of the program: what is waited for is there.
_LIBRARY.impl("wait_tensor", lambda self, dependency: aten.clone(self), "CompositeExplicitAutograd")
register_autograd("air::wait_tensor", lambda ctx, grad: (grad, None), lib=_LIBRARY)


def _operators() -> Any:
    from ...._ops import ops

    return ops.air


for _name in ("scope_enter", "scope_exit"):
    has_side_effect(getattr(_operators(), _name).default)


def enter(attributes: dict[str, str]) -> None:
    """Mark what follows with attributes, until the `leave` that belongs to it."""
    _operators().scope_enter(list(attributes), list(attributes.values()))


def leave() -> None:
    """End the marks of the last `enter`."""
    _operators().scope_exit()


def wait(value: Any, dependency: Any) -> Any:
    """A tensor's value, once another one is there."""
    return _operators().wait_tensor(value, dependency)


@register_fx_node_ge_converter(_operators().scope_enter.default)
def _convert_enter(keys: list[str], values: list[str], need_execute: bool = False) -> None:
    graph.current().marks.append({key: attr.Str(value) for key, value in zip(keys, values, strict=True)})


@register_fx_node_ge_converter(_operators().scope_exit.default)
def _convert_exit(need_execute: bool = False) -> None:
    graph.current().marks.pop()


@register_fx_node_ge_converter(_operators().wait_tensor.default)
def _convert_wait(self: Any, dependency: Any) -> Any:
    made = apis.Identity(self)
    made.op.after.append(dependency.op)
    return made
