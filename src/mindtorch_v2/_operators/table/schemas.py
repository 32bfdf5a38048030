"""Derived forms: the in-place and `out=` operators that follow from a functional one."""

from __future__ import annotations

from typing import Any

from ... import _C

__all__ = ["define_generated_out", "define_inplace", "define_out"]


def define_inplace(functional: Any, overload: str = "") -> Any:
    """The form that writes its first argument: `add.Tensor` -> `add_.Tensor`."""
    return _C._define_form(functional, "inplace", overload)


def define_out(functional: Any, overload: str = "", *, first: bool = True) -> Any:
    """The form with a tensor to write for each result: `add.Tensor` -> `add.out`.

    PyTorch has no rule for its `overload`; for the most part the first is called out, another Scalar_out. Words after it
    name the tensors to write where they are not called as the results: ``"dim_max max max_values"``.
    """
    overload, _, names = overload.partition(" ")
    if not overload:
        base = functional.overload
        overload = f"{base}_out" if base not in ("", "self") and not (base == "Tensor" and first) else "out"
    return _C._define_form(functional, "out", overload, names)


def define_generated_out(functional: Any) -> Any:
    """The `out=` form that PyTorch generates: `isnan` -> `isnan.out`, `_foreach_add.Scalar` -> `_foreach_add.Scalar_out`."""
    return _C._define_form(functional, "autogen", f"{functional.overload}_out" if functional.overload else "out")
