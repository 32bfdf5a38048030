"""Operators made in one line of functions that were compiled without PyTorch: TVM FFI's and plain C functions."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above
from mindtorch_v2._dispatch.schema import parse_schema
from mindtorch_v2._ops import OpOverload, ops

from .registration import Library

__all__ = ["from_ctypes", "from_tvm_ffi"]

_libraries: list[Library] = []  # what is registered stays
_KEYS = ("CPU", "NPU")


def _operator(who: str, schema: str, run: Callable, out: Callable | None) -> OpOverload:
    """Register `run(outputs, arguments)` as an operator's kernels; its outputs come from `out`, also in fake runs."""
    parsed = parse_schema(schema, False)
    namespace, _, name = parsed.name.rpartition("::")
    if not namespace:
        raise ValueError(
            f"{who}: a schema with a namespace was expected, 'ns::name(Tensor x) -> Tensor', got {schema!r}"
        )
    returns = len(parsed.returns)
    if returns and out is None:
        raise ValueError(
            f"{who}: {parsed.name} returns {returns} tensors, and a compiled function fills memory that it is given: "
            "say how its outputs are made, out=lambda x: torch.empty_like(x)"
        )
    if not returns and out is not None:
        raise ValueError(f"{who}: {parsed.name} returns nothing, so that out= makes nothing that is needed")
    if any("Tensor" not in str(result.type) for result in parsed.returns):
        raise ValueError(f"{who}: {parsed.name}: results are tensors, got {schema!r}")

    def outputs(args: Any, kwargs: Any) -> Any:
        made = out(*args, **kwargs) if out is not None else ()
        made = made if isinstance(made, tuple) else (made,)
        if len(made) != returns:
            raise RuntimeError(f"{parsed.name}: out= made {len(made)} tensors, the schema has {returns} results")
        return made

    def result(made: Any) -> Any:
        return None if not made else made[0] if len(made) == 1 else made

    def kernel(*args: Any, **kwargs: Any) -> Any:
        given = [
            *args,
            *(kwargs[a.name] if a.name in kwargs else a.default_value for a in parsed.arguments[len(args) :]),
        ]
        made = outputs(args, kwargs)
        run(made, given)
        return result(made)

    library = Library(namespace, "FRAGMENT")
    library.define(schema.split("::", 1)[1])
    short = name + (f".{parsed.overload_name}" if parsed.overload_name else "")
    for key in _KEYS:
        library.impl(short, kernel, key)
    library._register_fake(short, lambda *args, **kwargs: result(outputs(args, kwargs)))
    _libraries.append(library)
    return getattr(getattr(getattr(ops, namespace), name), parsed.overload_name or "default")


def from_tvm_ffi(
    function: Any, schema: str, *, out: Callable | None = None, out_first: bool = False, symbol: str | None = None
) -> OpOverload:
    """An operator that calls a function of TVM FFI's convention.

    Args:
        function: a function of the package `tvm_ffi`, or the path of a library that exports it.
        schema: `"ns::name(Tensor x, float f) -> Tensor"`. Arguments that are written to carry their mark, `Tensor(a!) y`.
        out: makes the outputs from the arguments; it is the fake kernel too. None where the schema returns nothing.
        out_first: whether the function takes its outputs before its arguments, not behind them.
        symbol: the function's name in the library; by default that of the operator.

    The function takes tensors as they are, strides included, and runs on the current stream. Its errors arrive as the
    class of Python that they name. Raises ValueError for a schema and an `out` that do not fit, ImportError where a path
    is given and `tvm_ffi` is not installed.
    """
    if isinstance(function, (str, os.PathLike)):
        try:
            import tvm_ffi  # an optional package
        except ImportError as error:
            raise ImportError(
                "from_tvm_ffi: libraries are loaded by the package tvm_ffi: pip install apache-tvm-ffi"
            ) from error
        symbol = symbol or parse_schema(schema, False).name.rpartition("::")[2]
        function = tvm_ffi.load_module(os.fspath(function))[symbol]
    if not callable(function):
        raise TypeError(f"from_tvm_ffi: a function or a path was expected, got {type(function).__name__}")

    def run(outputs: Any, args: Any) -> None:
        function(*outputs, *args) if out_first else function(*args, *outputs)

    return _operator("from_tvm_ffi", schema, run, out)


def from_ctypes(
    function: Any,
    schema: str,
    *,
    out: Callable | None = None,
    args: Callable | None = None,
    stream: bool = False,
) -> OpOverload:
    """An operator that calls a C function, as `ctypes` loads it.

    Args:
        function: `ctypes.CDLL(path).name`. Where it returns an `int` (`restype` as ctypes sets it), 0 is success; set
            `restype = None` for a function that returns nothing.
        schema: `"ns::name(Tensor x, float f) -> Tensor"`.
        out: makes the outputs from the arguments; it is the fake kernel too. None where the schema returns nothing.
        args: `args(outputs, *arguments)` gives what the function takes, in its order; by default the outputs, then the
            arguments. Tensors become pointers to their first element; where the function has no `argtypes`, int becomes
            `int64_t`, float `double`, bool `bool`, str `char*`; None is a null pointer.
        stream: whether the function takes the current stream of the device, a pointer, as its last argument.

    >>> import ctypes
    >>> libc = ctypes.CDLL(None)
    >>> libc.memcpy.restype = None
    >>> copied = torch.library.from_ctypes(
    ...     libc.memcpy,
    ...     "guide_c::copied(Tensor x) -> Tensor",
    ...     out=lambda x: torch.empty_like(x),
    ...     args=lambda outputs, x: (outputs[0], x, x.nbytes),
    ... )
    >>> copied(torch.ones(2))
    tensor([1., 1.])
    """
    if not callable(function) or not hasattr(function, "restype"):
        raise TypeError(f"from_ctypes: a function of a ctypes library was expected, got {type(function).__name__}")
    checked = function.restype is ctypes.c_int
    name = parse_schema(schema, False).name

    def run(outputs: Any, given: Any) -> None:
        values = [*outputs, *given] if args is None else list(args(outputs, *given))
        passed = [_passed(name, value) for value in values]
        if stream:
            tensor = next(value for value in (*given, *outputs) if isinstance(value, _C.TensorBase))
            passed.append(ctypes.c_void_p(_stream_of(tensor)))
        if function.argtypes is not None:  # ctypes converts plain values itself
            passed = [value.value for value in passed]
        status = function(*passed)
        if checked and status:
            raise RuntimeError(f"{name}: the compiled function returned {status}")

    return _operator("from_ctypes", schema, run, out)


def _stream_of(tensor: Any) -> int:
    if tensor.device.type == "cpu":
        return 0
    return getattr(
        above.device_module("accelerator").current_stream(tensor.device.index), f"{tensor.device.type}_stream"
    )


def _passed(name: str, value: Any) -> Any:
    if value is None:
        return ctypes.c_void_p()
    if isinstance(value, _C.TensorBase):
        return ctypes.c_void_p(value.data_ptr())
    if isinstance(value, bool):
        return ctypes.c_bool(value)
    if isinstance(value, int):
        return ctypes.c_int64(value)
    if isinstance(value, float):
        return ctypes.c_double(value)
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, ctypes._SimpleCData):
        return value
    raise TypeError(
        f"{name}: {type(value).__name__} has no form in C here: give args= that makes numbers, texts and tensors of it"
    )
