"""`torch.fx.experimental.symbolic_shapes`: names for sizes that may differ, and questions about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2._core.unavailable import unavailable_class
from mindtorch_v2._sizes import universes as _universes  # noqa: F401  (with it fake tensors have such sizes)
from mindtorch_v2._sizes.decisions import (
    free_symbols,
    guard_bool,
    guard_float,
    guard_int,
    guard_or_false,
    guard_or_true,
    guard_scalar,
    guard_size_oblivious,
    has_free_symbols,
    has_static_value,
    has_symbolic_sizes_strides,
    is_concrete_bool,
    is_concrete_float,
    is_concrete_int,
    is_symbolic,
    optimization_hint,
    statically_known_false,
    statically_known_true,
    sym_and,
    sym_eq,
    sym_or,
)
from mindtorch_v2._sizes.environment import (
    ConstraintViolationError,
    DimDynamic,
    GuardOnDataDependentSymNode,
    ShapeEnv,
    ShapeGuard,
    StatelessSymbolicContext,
    SymbolicContext,
)
from mindtorch_v2._sizes.numbers import SymBool, SymFloat, SymInt, SymNode
from mindtorch_v2.fx.experimental import _config as _config

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.fx import GraphModule

__all__ = [
    "ConstraintViolationError",
    "DimDynamic",
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "ShapeGuard",
    "StatelessSymbolicContext",
    "SymBool",
    "SymFloat",
    "SymInt",
    "SymNode",
    "SymbolicContext",
    "bind_symbols",
    "eval_guards",
    "free_symbols",
    "fx_placeholder_targets",
    "fx_placeholder_vals",
    "guard_bool",
    "guard_float",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_scalar",
    "guard_size_oblivious",
    "has_free_symbols",
    "has_static_value",
    "has_symbolic_sizes_strides",
    "is_concrete_bool",
    "is_concrete_float",
    "is_concrete_int",
    "is_nested_int",
    "is_symbolic",
    "optimization_hint",
    "statically_known_false",
    "statically_known_true",
    "sym_and",
    "sym_eq",
    "sym_or",
]

ShapeEnvSettings = unavailable_class("torch.fx.experimental.symbolic_shapes.ShapeEnvSettings")


def is_nested_int(s: Any) -> bool:
    """Whether a number stands for the differing sizes of a nested tensor: never, there are none.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import is_nested_int
    >>> from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import ShapeEnv
    >>> size = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.ones(4)).shape[0]
    >>> is_nested_int(size)
    False
    """
    return False


def fx_placeholder_vals(gm: GraphModule) -> list[Any]:
    """Fake tensors and symbolic numbers for which a graph was traced, one an input.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import fx_placeholder_vals
    >>> graph_module = make_fx(lambda x: x + 1, tracing_mode="fake")(torch.ones(4))
    >>> [value.shape for value in fx_placeholder_vals(graph_module)]
    [torch.Size([4])]
    """
    return [node.meta["val"] for node in gm.graph.nodes if node.op == "placeholder"]


def fx_placeholder_targets(gm: GraphModule) -> list[str]:
    """The names of the inputs of a graph.

    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import fx_placeholder_targets
    >>> fx_placeholder_targets(torch.fx.symbolic_trace(lambda x, y: x + y))
    ['x', 'y']
    """
    return [node.target for node in gm.graph.nodes if node.op == "placeholder"]


def eval_guards(gm: GraphModule, *args: Tensor, ignore_static: bool = True) -> bool:
    """Whether a graph that was traced with symbolic sizes holds for these arguments.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import eval_guards
    >>> graph_module = make_fx(lambda x: x + 1 if x.shape[0] > 3 else x, tracing_mode="symbolic")(torch.ones(4))
    >>> eval_guards(graph_module, torch.ones(7)), eval_guards(graph_module, torch.ones(2))
    (True, False)
    """
    return gm.shape_env.evaluate_guards_for_args(fx_placeholder_vals(gm), args)


def bind_symbols(gm: GraphModule, *args: Tensor) -> dict[str, int]:
    """The values that the symbols of a traced graph have for these arguments.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> from mindtorch_v2.fx.experimental.symbolic_shapes import bind_symbols
    >>> graph_module = make_fx(lambda x: x + x.shape[0], tracing_mode="symbolic")(torch.ones(4))
    >>> bind_symbols(graph_module, torch.ones(7))
    {'s0': 7}
    """
    return gm.shape_env.bind_symbols(fx_placeholder_vals(gm), args)
