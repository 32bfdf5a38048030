"""Words that PyTorch's functions take beside `out`, and its operators do not: `torch.zeros(2, out=x, dtype=x.dtype)`.

They have to be what `out` is. Asked only where a call fits no overload, so that other calls cost nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from .. import _C
from .table import class_name
from .table.names import BOUND

_LAYOUTS = {  # as PyTorch's C++ names them
    "torch.strided": "Strided", "torch.sparse_coo": "Sparse", "torch.sparse_csr": "SparseCsr", "torch.sparse_csc": "SparseCsc",
}  # fmt: skip
_OPTIONS = ("dtype", "layout", "device", "pin_memory")


@functools.cache
def _is_factory(name: str) -> bool:
    """Whether a form of the function takes all of the options."""
    forms = BOUND["function"].get(name, ())
    return any(set(_OPTIONS) <= {argument["name"] for argument in form.arguments} for form in forms)


def _check(out: Any, options: Mapping[str, Any]) -> None:
    """RuntimeError where an option is not that of `out`; pin_memory is not looked at."""
    dtype, layout, device = (options.get(each) for each in _OPTIONS[:3])
    if dtype is not None and dtype != out.dtype:
        raise RuntimeError(f"dtype {class_name(dtype)} does not match dtype of out parameter ({class_name(out.dtype)})")
    if layout not in (None, out.layout):
        wanted, found = (_LAYOUTS.get(str(each), str(each)) for each in (layout, out.layout))
        raise RuntimeError(f"layout {wanted} does not match layout of out parameter ({found})")
    if device is not None and str(device).partition(":")[0] != out.device.type:  # a word or a device
        raise RuntimeError(
            f"device type {str(device).partition(':')[0]} does not match device type of out parameter ({out.device.type})"
        )


def with_out_options(functions: Mapping[str, Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a factory's call with `out` and options; NotImplemented of any other call."""
    out = kwargs.get("out")
    if not isinstance(out, _C.TensorBase) or not _is_factory(name):
        return NotImplemented
    others = {key: value for key, value in kwargs.items() if key not in _OPTIONS and key != "requires_grad"}
    if len(others) == len(kwargs):
        return NotImplemented
    _check(out, kwargs)
    made = functions[name](*args, **others)
    if not kwargs.get("requires_grad"):
        return made
    if not (made.dtype.is_floating_point or made.dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return made.requires_grad_()
