"""Symbolic tracing: the names, and whether a trace is running (never)."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = ["Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

Tracer = unavailable_class("torch.fx.Tracer")
symbolic_trace = unavailable_function("torch.fx.symbolic_trace")


def is_fx_tracing():
    """Whether a symbolic trace is running: False."""
    return False


def is_fx_symbolic_tracing():
    """Whether a symbolic trace, and no compiler, is running: False."""
    return False


def wrap(fn_or_name):
    """Mark a module-level function (or its name) as a leaf for symbolic tracing; returns it.

    Raises RuntimeError if the argument is neither a function nor a name.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name
