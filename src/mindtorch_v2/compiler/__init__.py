"""`torch.compiler`: compilation is asked for here, and programs ask here whether they are being compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2._dynamo import _control
from mindtorch_v2._dynamo._marks import (
    allow_in_graph,
    assume_constant_result,
    is_compiling,
    reset,
    set_stance,
    substitute_in_graph,
)
from mindtorch_v2._dynamo.backends.registry import (
    get_default_backend,
    list_backends as _list_backends,
    set_default_backend,
)
from mindtorch_v2._dynamo._compile import compile
from mindtorch_v2._dynamo.eval_frame import disable
from mindtorch_v2._higher_order_ops.invoke_subgraph import mark_compile_region
from mindtorch_v2.compiler import config
from mindtorch_v2.compiler._cache import CacheInfo, load_cache_artifacts, save_cache_artifacts
from mindtorch_v2.compiler._guard_filters import (
    keep_portable_guards_unsafe,
    keep_tensor_guards_unsafe,
    skip_all_guards_unsafe,
    skip_guard_on_all_nn_modules_unsafe,
    skip_guard_on_globals_unsafe,
    skip_guard_on_inbuilt_nn_modules_unsafe,
)

__all__ = [
    "CacheInfo",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "keep_portable_guards_unsafe",
    "keep_tensor_guards_unsafe",
    "list_backends",
    "load_cache_artifacts",
    "nested_compile_region",
    "reset",
    "save_cache_artifacts",
    "set_default_backend",
    "set_stance",
    "skip_all_guards_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "skip_guard_on_globals_unsafe",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "substitute_in_graph",
    "wrap_numpy",
]


def is_dynamo_compiling() -> bool:
    """Whether the running code is being captured for a graph.

    >>> def f(x):
    ...     return x + 1 if torch.compiler.is_dynamo_compiling() else x
    >>> f(torch.ones(1)), torch.compile(f, backend="eager")(torch.ones(1))
    (tensor([1.]), tensor([2.]))
    """
    return _control.is_capturing()


def is_exporting() -> bool:
    """Whether the running code is being exported by `torch.export`.

    >>> class Model(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x + 1 if torch.compiler.is_exporting() else x
    >>> x = torch.ones(1)
    >>> Model()(x), torch.export.export(Model(), (x,)).module()(x)
    (tensor([1.]), tensor([2.]))
    """
    return _control.thread.exporting > 0


def list_backends(exclude_tags: Sequence[str] = ("debug", "experimental")) -> list[str]:
    """The names of the back ends without any of these tags.

    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    return _list_backends(exclude_tags)


def cudagraph_mark_step_begin() -> None:
    """Mark the start of a step for CUDA graphs; there are none, so there is nothing that it could keep apart.

    >>> step = torch.compile(lambda x: x + 1, backend="eager")
    >>> for _ in range(2):
    ...     torch.compiler.cudagraph_mark_step_begin()
    ...     step(torch.ones(1))
    tensor([2.])
    tensor([2.])
    """


def nested_compile_region(
    fn: Callable[..., Any] | None = None,
    *,
    options: Any = None,
    max_reuse_entries: int = 8,
    reuse_hash_fn: Callable[..., int] | None = None,
) -> Any:
    """Mark a function that a program calls often as one whose code a compiler may make once. The function is as it was.

    Graphs here hold each of its calls; `max_reuse_entries` and `reuse_hash_fn` say when code is made again, which this does not
    need. Without `fn` it is a decorator. RuntimeError for `options`, as in PyTorch, where they are for tests only.

    >>> @torch.compiler.nested_compile_region
    ... def layer(x):
    ...     return x.relu() + 1
    >>> torch.compile(lambda x: layer(layer(x)), backend="eager")(torch.tensor([-1.0]))
    tensor([2.])
    """
    if options is not None:
        raise RuntimeError("nested_compile_region config is an experimental feature for testing only.")
    return mark_compile_region(fn)


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's arrays as one of tensors: it is given arrays on the tensors' memory, and its arrays become tensors.

    Nested arguments and results are looked into. Tensors on the CPU only, and none that requires a gradient: RuntimeError.

    >>> import numpy
    >>> @torch.compiler.wrap_numpy
    ... def total(a):
    ...     return numpy.sum(a * a, keepdims=True)
    >>> total(torch.arange(3.0))
    tensor([5.])
    """
    import numpy

    import mindtorch_v2 as torch
    from mindtorch_v2.utils import _pytree

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _pytree.tree_map_only(torch.Tensor, lambda each: each.numpy(), (args, kwargs))
        return _pytree.tree_map_only(numpy.ndarray, torch.as_tensor, fn(*args, **kwargs))

    return wrapped
