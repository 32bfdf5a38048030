"""Operators that `nn.functional` hands on as they are."""

import mindtorch_v2 as torch


def op(name):
    """The operator `name` of `torch._C._nn` or `torch`; where there is none, a function that says so when called."""
    found = getattr(torch._C._nn, name, None)
    if found is None:
        found = getattr(torch, name, None)
    if found is not None:
        return found

    def missing(*args, **kwargs):
        raise NotImplementedError(f"nn.functional.{name}: the operator aten::{name} is not implemented")

    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = f"Not implemented: there is no operator aten::{name}."
    return missing
