"""Operators that GE has no word for, and that stand on others: those take their place in a graph before it is converted.

Of Ascend's operators that is the row's composition, of PyTorch's what `torch._decomp` says of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._core.torch_dispatch import run_call, whole_calls
from ..._decomp import get_decompositions
from ..._operators.table import row_of
from ...func import functionalize
from ...fx import Interpreter
from ...fx.experimental.proxy_tensor import make_fx
from . import fused, registry
from . import lower as lowering
from .checks import GEConversionError, name


def _rule(target: Any, args: Any, kwargs: Any) -> Callable[..., Any] | None:
    """The function that does the work of a call; None for a call that is converted as it is, or that nothing is known of."""
    if getattr(target, "_handle", None) is None:
        return None
    handle = run_call(target, args)._handle
    if handle in registry.CONVERTERS or handle.mutates:
        return None
    source = registry.said_by(handle)
    row = row_of(source)
    if row is None:
        return None
    if fused.row_for(source, args, kwargs) is not None:
        return None
    if source.namespace == "aten":
        return next(iter(get_decompositions([target]).values()), None)
    if row.body is None:
        return None
    return functools.partial(_written, source, row.body) if source.mutates else row.body


def _written(source: Any, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The functional form of an operator that writes: its new results, then what its written arguments become."""
    values = fused.called(source, args, kwargs)
    names = [a["name"] for a in source.arguments if a["is_write"]]
    for each in names:
        values[each] = values[each].clone()
    made = body(**values)
    fresh = [] if made is None or any(r["is_write"] for r in source.returns) else made
    results = [*(fresh if isinstance(fresh, (list, tuple)) else [fresh]), *(values[each] for each in names)]
    return results[0] if len(results) == 1 else tuple(results)


class _Composing(Interpreter):
    """Interpreter of a graph, with the compositions in the place of the operators that stand on them."""

    under_way = ""  # the operator whose composition runs

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        rule = _rule(target, args, kwargs)
        if rule is None:
            return super().call_function(target, args, kwargs)
        self.under_way = name(target._handle)
        return rule(*args, **kwargs)


def inlined(module: Any) -> Any:
    """The traced graph without the operators that GE has no word for and that stand on others.

    GEConversionError where a composition reads the numbers of tensors, which a graph does not have.
    """
    for _ in range(8):  # compositions of compositions
        calls = [node for node in module.graph.nodes if node.op == "call_function"]
        if not any(_rule(node.target, node.args, node.kwargs) for node in calls):
            break
        inputs = [node.meta.get("val") for node in module.graph.nodes if node.op == "placeholder"]
        composing = _Composing(module)
        try:
            with whole_calls():
                module = make_fx(functionalize(composing.run), tracing_mode="fake")(*inputs)
        except (NotImplementedError, RuntimeError) as error:
            raise GEConversionError(
                f"{composing.under_way} has no operator of GE for this call, and the operators that it stands on cannot be traced: "
                f"{str(error).splitlines()[0]}. Write a converter with @torchair.register_fx_node_ge_converter(torch.ops.{composing.under_way})"
            ) from error
    return module


def lower(module: Any, name: str = "graph") -> lowering.Program:
    """A GE graph of a functional graph of operators (as `make_fx` of a functionalized program makes it).

    Raises:
        GEConversionError: operators without a converter (all of them are named), converters whose results do not fit the
            operator, operators that write what others read.
    """
    return lowering.lower(inlined(module), name)


__all__ = ["inlined", "lower"]
