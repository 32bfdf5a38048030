"""`torch.compile`."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch_v2._dynamo.backends.registry import lookup_backend
from mindtorch_v2._dynamo.eval_frame import compiled_callable

__all__ = ["compile"]

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[Any, Any] | None = None,
    disable: bool = False,
) -> Any:
    """`model` (a function, method or Module), run through graphs: the same results, gradients and random numbers.

    A graph is captured at the first call, and used again where all that it depends on is as it was; else another is
    captured. Where a program cannot be captured whole it runs in Python, and graphs break there; with `fullgraph` that is an
    error that names the line. `dynamic` says whether graphs are for any size: from the first on (True), never
    (False), or of sizes that were seen to change (None).

    `backend` is a name (`torch._dynamo.list_backends(None)`) or a callable `(graph_module, example_inputs) -> callable`.
    The default, `inductor`, is PyTorch's compiler; here it runs graphs of operators with chains of them fused, where that
    is faster. `mode` is one of PyTorch's names: with "reduce-overhead" and "max-autotune" the graphs on a GPU are recorded at their
    third call and replayed from then on; the others change nothing here. `options` go to the back end.
    With `disable` the model itself comes back. A Module comes back as an `OptimizedModule` around it.

    Without `model` it is a decorator. TypeError for what is not callable, RuntimeError for both `mode` and `options` or for
    an unknown mode or back end.

    >>> @torch.compile
    ... def normalized(x):
    ...     return x / x.sum()
    >>> normalized(torch.tensor([1.0, 3.0]))
    tensor([0.2500, 0.7500])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    function = lookup_backend(backend)
    if disable:
        return model
    given: dict[str, Any] = {} if options is None or backend == "inductor" else {"options": dict(options)}
    if mode is not None and (backend == "inductor" or not isinstance(backend, str)):
        given["mode"] = mode
    del function
    return compiled_callable(model, backend=backend, fullgraph=fullgraph, dynamic=dynamic, options=given)
