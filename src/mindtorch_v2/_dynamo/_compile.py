"""`torch.compile`."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch_v2._dynamo.backends.registry import get_default_backend, lookup_backend
from mindtorch_v2._dynamo.eval_frame import compiled_callable

__all__ = ["compile"]

_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs", "lite")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[Any, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """`model` (a function, method or Module), run through graphs: the same results, gradients and random numbers.

    A graph is captured at the first call, and used again where all that it depends on is as it was; else another is
    captured. Where a program cannot be captured whole it runs in Python, and graphs break there; with `fullgraph` that is an
    error that names the line. `dynamic` says whether graphs are for any size: from the first on (True), never
    (False), or of sizes that were seen to change (None).

    `backend` is a name (`torch._dynamo.list_backends(None)`) or a callable `(graph_module, example_inputs) -> callable`.
    The default (`torch.compiler.get_default_backend()`), `inductor`, is PyTorch's compiler; here it runs graphs of operators with chains of them fused, where that
    is faster. `mode` is one of PyTorch's names: with "reduce-overhead" and "max-autotune" the graphs on a GPU are recorded at their
    third call and replayed from then on; the others change nothing here. `options` go to the back end, but for "guard_filter_fn": all guards are kept.
    `recompile_limit` is the number of graphs that are kept of this function, instead of `torch._dynamo.config.recompile_limit`; each
    function has graphs of its own here, with `isolate_recompiles` or without. `name` is what messages call it.
    With `disable` the model itself comes back. A Module comes back as an `OptimizedModule` around it.

    Without `model` it is a decorator. TypeError for what is not callable, RuntimeError for both `mode` and `options` or for
    an unknown mode or back end, NotImplementedError for `shapes_spec`.

    >>> @torch.compile
    ... def normalized(x):
    ...     return x / x.sum()
    >>> normalized(torch.tensor([1.0, 3.0]))
    tensor([0.2500, 0.7500])
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if shapes_spec is not None:
        raise NotImplementedError(
            "torch.compile(shapes_spec=) is not implemented in mindtorch_v2: use dynamic=True, or mark_dynamic"
        )
    backend = get_default_backend() if backend is None else backend
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            name=name,
            disable=disable,
            recompile_limit=recompile_limit,
        )
    if mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    function = lookup_backend(backend)
    if disable:
        return model
    options = {key: value for key, value in (options or {}).items() if key != "guard_filter_fn"} or None
    given: dict[str, Any] = {} if options is None or backend == "inductor" else {"options": dict(options)}
    if mode is not None and (backend == "inductor" or not isinstance(backend, str)):
        given["mode"] = mode
    del function
    settings: dict[str, Any] = {"backend": backend, "fullgraph": fullgraph, "dynamic": dynamic, "options": given}
    if name is not None:
        settings["name"] = name
    if recompile_limit is not None:
        settings["recompile_limit"] = recompile_limit
    return compiled_callable(model, **settings)
