"""What programs call of PyTorch's compiler front end in eager mode.

Marks on tensors are recorded, the rest has nothing to act on: no frame is ever compiled.
"""

from mindtorch_v2._dynamo import config, eval_frame
from mindtorch_v2._unavailable import unavailable_function
from mindtorch_v2.compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "explain",
    "export",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

OptimizedModule = eval_frame.OptimizedModule
explain = unavailable_function("torch._dynamo.explain")
export = unavailable_function("torch._dynamo.export")
optimize = unavailable_function("torch._dynamo.optimize", "call the function itself")


def is_dynamo_supported():
    """Whether frames can be compiled on this system: False."""
    return False


def is_inductor_supported():
    """Whether the default compiler can be used: False."""
    return False


def graph_break(msg=""):
    """End the graph being captured here; none is."""


def disallow_in_graph(fn):
    """Mark a function that ends a graph; returns it."""
    return fn


def mark_static_address(t, guard=False):
    """Record that `t` keeps its memory for its lifetime (as static caches and weights do)."""
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """Record that dimension `index` (an int, or several) of `t` varies between calls."""
    _mark(t, "_dynamo_dynamic_indices", index)


def maybe_mark_dynamic(t, index):
    """Record that dimension `index` (an int, or several) of `t` may vary between calls."""
    _mark(t, "_dynamo_weak_dynamic_indices", index)


def mark_static(t, index=None):
    """Record that dimension `index` (an int, several, or all) of `t` never varies."""
    _mark(t, "_dynamo_static_indices", range(t.dim()) if index is None else index)


def _mark(t, name, index):
    indices = {index} if isinstance(index, int) else set(index)
    t.__dict__.setdefault(name, set()).update(indices)
