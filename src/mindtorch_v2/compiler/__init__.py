"""`torch.compiler`: compilation is asked for here, and programs ask here whether they are being compiled.

No compiler is registered yet: what `torch.compile` returns runs eagerly, with the same results, and says so once.
"""

import functools
import warnings

import mindtorch_v2 as torch
from mindtorch_v2.compiler import config

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
]

_EAGER_BACKENDS = ("eager",)
_COMPILING_BACKENDS = ("aot_eager", "cudagraphs", "inductor", "onnxrt", "openxla", "tvm")
_STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)
_warned = False


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """Accept `model` (a function or a Module) for compilation; it goes on running eagerly.

    Semantics are those of PyTorch, whose compiled functions compute what the eager ones do; the speed is eager.
    The first use with a compiling backend warns. A Module comes back as an `OptimizedModule` around it.

    Raises NotImplementedError for a backend given as a callable (it would have to be handed a graph), RuntimeError
    for an unknown backend name or for both `mode` and `options`.
    """
    # Imported here: `_dynamo` hands on names of this module.
    from mindtorch_v2._dynamo.eval_frame import OptimizedModule

    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if callable(backend):
        raise NotImplementedError("torch.compile: a backend given as a callable needs graph capture, which is missing")
    if backend not in _EAGER_BACKENDS + _COMPILING_BACKENDS:
        raise RuntimeError(f"Invalid backend: {backend!r}, see `torch._dynamo.list_backends()` for available backends.")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise TypeError(f"torch.compile(): argument 'model' must be callable, not {type(model).__name__}")
    if disable:
        return model
    if backend not in _EAGER_BACKENDS:
        _warn_once()
    if isinstance(model, torch.nn.Module):
        return OptimizedModule(model, None)

    @functools.wraps(model)
    def eager(*args, **kwargs):
        return model(*args, **kwargs)

    eager._torchdynamo_orig_callable = model
    return eager


def _warn_once():
    global _warned
    if not _warned:
        _warned = True
        warnings.warn("torch.compile: no compiler is registered, the program runs eagerly", stacklevel=3)


def is_compiling():
    """Whether the running code is being compiled or exported: False."""
    return False


def is_dynamo_compiling():
    """Whether the running code is being traced by a compiler's front end: False."""
    return False


def is_exporting():
    """Whether the running code is being exported: False."""
    return False


def reset():
    """Forget every compiled function; there are none."""


def disable(fn=None, recursive=True, *, reason=None):
    """Mark `fn` as not to be compiled; a decorator, with or without arguments. Returns `fn` itself."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    return fn


def allow_in_graph(fn):
    """Mark a function (or each of a list or tuple of them) as a leaf for a compiler; returns it."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise TypeError(f"allow_in_graph expects a callable, got {type(fn).__name__}")
    return fn


def assume_constant_result(fn):
    """Mark a function whose result a compiler may treat as a constant; returns it."""
    return fn


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator that registers a replacement that a compiler would trace in place of `original_fn`."""

    def decorate(traceable_fn):
        return traceable_fn

    return decorate


def list_backends(exclude_tags=("debug", "experimental")):
    """The names of the compiling backends that can be used: none."""
    return []


def cudagraph_mark_step_begin():
    """Mark the start of a training step for CUDA graphs; there are none."""


class set_stance:
    """What a compiler may do from here on: a function call, a context manager or a decorator."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"expected stance to be one of {_STANCES}, got {stance!r}")
        self.stance = stance

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return None

    def __call__(self, fn):
        return fn
