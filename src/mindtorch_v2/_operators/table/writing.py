"""Results written into tensors that the caller gave: `out=`, and the in-place form of kernels that make their own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ... import _C
from .facts import EXACT_OUT, Facts
from .names import aten

_CLASSES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def class_name(dtype: Any) -> str:
    """The name of a dtype in PyTorch's messages: "Float" for float32."""
    short = str(dtype).rpartition(".")[2]
    return _CLASSES.get(short, short)


_CPP_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int64": "long int",
    "int32": "int",
    "uint8": "unsigned char",
}


def cpp_name(dtype: Any) -> str:
    """The name of a dtype in messages that show C++'s types: "float" for float32."""
    short = str(dtype).rpartition(".")[2]
    return _CPP_NAMES.get(short, short)


def check_holds(out: Any, value: Any) -> None:
    """RuntimeError where the kind of `value` is more than the dtype of `out` holds."""
    if not _C.can_cast(value.dtype, out.dtype):
        raise RuntimeError(
            f"result type {class_name(value.dtype)} can't be cast to the desired output type {class_name(out.dtype)}"
        )


def fill(out: Any, value: Any, warn: bool = True) -> Any:
    """Put `value` into `out`, which takes its sizes; with `warn` an `out` that held something warns, as PyTorch does."""
    check_holds(out, value)
    if out.device != value.device:
        raise RuntimeError(f"Expected out tensor to have device {value.device}, but got {out.device} instead")
    if out.shape != value.shape:
        if warn and out.numel() != 0:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
                f"match the required output shape {list(value.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
                "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=2,
            )
        aten.resize_(out, value.shape)
    return aten.copy_(out, value)


def _written(form: Any) -> list[str]:
    """The names of the arguments that an `out=` form writes."""
    return [each["name"] for each in form.arguments if each["is_write"] and each["kwarg_only"]]


def check_dtype(out: Any, value: Any, text: str) -> None:
    """RuntimeError of `text` (the fact `out_dtype` of a row) where `out` has another dtype than `value`."""
    if text and out.dtype != value.dtype:
        raise RuntimeError(_C._refused_dtype(text, out.dtype, value.dtype))


def fill_exactly(out: Any, value: Any) -> Any:
    """As `fill`, for an `out` of the dtype of `value` only."""
    if value is None:
        raise RuntimeError("this result is undefined for these arguments: nothing can be written to its out tensor")
    check_dtype(out, value, EXACT_OUT)
    return fill(out, value)


def into_generated(functional: Any, form: Any) -> Callable[..., Any]:
    """The kernel of an `out=` form that PyTorch generates: the results are copied, and dtypes have to agree."""

    names = _written(form)

    def into_outs(*args: Any, **kwargs: Any) -> Any:
        outs = [kwargs.pop(name) for name in names]
        as_list = isinstance(outs[0], (tuple, list))
        if not as_list and any(each["name"] == "pin_memory" and each["kwarg_only"] for each in functional.arguments):
            kwargs |= {"dtype": outs[0].dtype, "layout": outs[0].layout, "device": outs[0].device}
        results = functional(*args, **kwargs)
        targets = outs[0] if as_list else outs
        values = results if isinstance(results, (tuple, list)) else (results,)
        if len(targets) != len(values):
            raise RuntimeError(f"Expected {len(values)} out tensors, one for each result, but got {len(targets)}")
        for out, value in zip(targets, values, strict=True):
            fill_exactly(out, value)
        if as_list:
            return None
        return tuple(outs) if len(outs) > 1 else outs[0]

    return into_outs


def through_functional(functional: Callable[..., Any], form: Any, facts: Facts) -> Callable[..., Any]:
    """The in-place or out= form of an operator whose kernel makes its own result: compute, then copy."""
    if form.form == "inplace":

        def in_place(self: Any, *args: Any, **kwargs: Any) -> Any:
            # What the functional form saves of its input must outlive the write.
            source = aten.clone(self) if self.requires_grad and _C.is_grad_enabled() else self
            result = functional(source, *args, **kwargs)
            check_holds(self, result)
            return aten.copy_(self, result)

        return in_place

    names, inputs = _written(form), [each["name"] for each in form.arguments]

    def into_outs(*args: Any, **kwargs: Any) -> Any:
        outs = [kwargs.pop(name) for name in names]
        if facts.out_apart:
            given = dict(zip(inputs, args)) | kwargs
            for out in outs:
                _C._check_out_apart(out, *(given[name] for name in facts.out_apart))
        results = functional(*args, **kwargs)
        many = isinstance(results, (tuple, list))
        for out, result in zip(outs, results if many else (results,), strict=True):
            check_dtype(out, result, facts.out_dtype)
            fill(out, result, warn=not facts.quiet_out)
        return tuple(outs) if many else outs[0]

    return into_outs
