"""`torch._dynamo`: the compiler's front end by PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from mindtorch_v2._capture import Uncapturable
from mindtorch_v2._core.tracer import run_what_waits
from mindtorch_v2._dynamo import _control, config, eval_frame, exc, testing, utils
from mindtorch_v2._dynamo.backends.registry import list_backends, lookup_backend, register_backend
from mindtorch_v2._dynamo.eval_frame import OptimizedModule, disable, explain
from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2._dynamo._compile import compile
from mindtorch_v2._dynamo._marks import (
    allow_in_graph,
    assume_constant_result,
    disallow_in_graph,
    forbid_in_graph,
    is_compiling,
    reset,
    set_stance,
    substitute_in_graph,
)

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "config",
    "disable",
    "disallow_in_graph",
    "eval_frame",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_supported",
    "is_inductor_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "register_backend",
    "reset",
    "reset_code_caches",
    "run",
    "set_stance",
    "substitute_in_graph",
    "testing",
    "utils",
]

export = unavailable_function("torch._dynamo.export")
reset_code_caches = reset


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    guard_export_fn: Any = None,
    guard_fail_fn: Any = None,
    disable: bool = False,
    dynamic: bool | None = None,
) -> Callable[..., Any]:
    """The older form of `torch.compile`: a function that compiles what it is given."""
    if guard_export_fn is not None or guard_fail_fn is not None:
        raise NotImplementedError(
            "torch._dynamo.optimize(guard_export_fn=, guard_fail_fn=) is not implemented in mindtorch_v2"
        )
    return compile(backend=backend, fullgraph=nopython, dynamic=dynamic, disable=disable)


def optimize_assert(backend: Any, *, dynamic: bool | None = None, **ignored: Any) -> Callable[..., Any]:
    """The older form of `torch.compile(fullgraph=True)`: a function that compiles what it is given, whole."""
    return compile(backend=backend, fullgraph=True, dynamic=dynamic)


def run(fn: Any = None) -> Any:
    """`fn`, such that no further graph is captured: where none fits it runs eagerly."""
    if fn is None:
        return run

    def call(*args: Any, **kwargs: Any) -> Any:
        before = _control.set_current(_control._Stance("eager_on_recompile"))
        try:
            return fn(*args, **kwargs)
        finally:
            _control.set_current(before)

    return call


def is_dynamo_supported() -> bool:
    """Whether functions can be compiled on this system: True."""
    return True


def is_inductor_supported() -> bool:
    """Whether PyTorch's default compiler can be used: False; its name stands for another back end."""
    return False


def graph_break(msg: Any = "") -> None:
    """End the graph that is being made of what runs here; nothing where none is."""
    if _control.is_capturing():
        raise Uncapturable(f"Call to `torch._dynamo.graph_break()` {msg}".rstrip(), "graph_break")
    run_what_waits(f"torch._dynamo.graph_break() {msg}".rstrip())


vars(graph_break).update(_torchdynamo_disable=True, _torchdynamo_disable_msg="torch._dynamo.graph_break()")


def mark_static_address(t: Any, guard: bool = False) -> None:
    """Record that `t` keeps its memory for its lifetime (as static caches and weights do)."""
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"


def mark_dynamic(
    t: Tensor,
    index: Any,
    *,
    hint_override: Any = None,
    min: int | None = None,
    max: int | None = None,
    specialize_on: Any = None,
) -> None:
    """Record that dimension `index` (an int, or several) of `t` varies between calls."""
    _mark(t, "_dynamo_dynamic_indices", index)


def maybe_mark_dynamic(t: Tensor, index: Any) -> None:
    """Record that dimension `index` (an int, or several) of `t` may vary between calls."""
    _mark(t, "_dynamo_weak_dynamic_indices", index)


def mark_static(t: Tensor, index: Any = None) -> None:
    """Record that dimension `index` (an int, several, or all) of `t` never varies."""
    _mark(t, "_dynamo_static_indices", range(t.dim()) if index is None else index)


def _mark(t, name, index) -> None:
    indices = {index} if isinstance(index, int) else set(index)
    t.__dict__.setdefault(name, set()).update(indices)
