"""Questions that the core asks Python when it checks kernels; it imports this when it has to.

MINDTORCH_CHECK_MUTATION=1 looks at the memory of devices other than the CPU, MINDTORCH_CHECK_META=1 at what Meta kernels say.
"""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._dispatch.keys import AUTOGRAD, excluded
from mindtorch_v2._dispatch.schema import schema_of


class UndeclaredError(RuntimeError):
    """A kernel wrote, or gave back, what its schema keeps quiet about."""


def _copy(tensor):
    """A copy to compare with later; None where the device cannot copy: then only version counters tell of writes."""
    try:
        with excluded(AUTOGRAD, "ADInplaceOrView"):
            return _C._find_operator("aten::clone", "")(tensor)
    except NotImplementedError:
        return None


def _differs(copy, tensor) -> bool:
    with excluded(AUTOGRAD, "ADInplaceOrView"):
        return not _C._find_operator("aten::equal", "")(copy, tensor)


def _tensors(value) -> list:
    if isinstance(value, _C.TensorBase):
        return [value]
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, (list, tuple)) else []


def _expected(handle, values) -> tuple | None:
    """The results of the Meta kernel for these arguments; None if it cannot tell without their data."""
    made = {}

    def bare(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [bare(item) for item in value]
        if not isinstance(value, _C.TensorBase):
            return value
        if id(value) not in made:
            made[id(value)] = _C._find_operator("aten::empty_strided", "")(
                tuple(value.shape), value.stride(), dtype=value.dtype, device="meta"
            )
        return made[id(value)]

    schema = schema_of(handle)
    more = values[-1] if schema.is_vararg else ()
    named, values = handle.arguments, values[: len(schema.arguments)]
    if any(isinstance(value, _C.device) for value in values):
        return None  # the call says where its results are made
    positional = [bare(v) for v, a in zip(values, named, strict=True) if not a["kwarg_only"]]
    keywords = {a["name"]: bare(v) for v, a in zip(values, named, strict=True) if a["kwarg_only"]}
    try:
        with excluded(AUTOGRAD, "ADInplaceOrView"):
            results = handle(*positional, *map(bare, more), **keywords)
    except NotImplementedError:
        return None
    device = next((t.device.type for v in (*values, *more) for t in _tensors(v)), None)
    if schema.is_varret:
        count = len(schema.returns)
        each = results if isinstance(results, tuple) else () if results is None else (results,)
        return (*map(_tensors, each[:count]), _tensors(each[count:])), device
    results = (results,) if len(handle.returns) == 1 else results or ()
    return tuple(map(_tensors, results)), device


def _compare(handle, expected, results) -> None:
    """RuntimeError if the Meta kernel said something else of the results than they are."""
    expected, device = expected
    name = f"{handle.namespace}::{handle.name}"
    for number, (said, result) in enumerate(zip(expected, results, strict=True)):
        tensors = _tensors(result)
        if len(said) != len(tensors):
            _fail(name, number, f"{len(said)} tensors", f"{len(tensors)}")
        for fake, real in zip(said, tensors, strict=True):
            if fake.shape != real.shape:
                _fail(name, number, f"the shape {list(fake.shape)}", f"{list(real.shape)}")
            if fake.dtype != real.dtype:
                _fail(name, number, f"the dtype {fake.dtype}", f"{real.dtype}")
            steps = zip(fake.stride(), real.stride(), real.shape, strict=True)
            if real.numel() and any(a != b and size > 1 for a, b, size in steps):
                _fail(name, number, f"the strides {list(fake.stride())}", f"{list(real.stride())}")
            if fake.device.type != "meta":
                _fail(name, number, f"the device {fake.device} instead of meta", f"{real.device}")
            if device is not None and real.device.type != device:
                _fail(name, number, f"the device of the arguments, {device}", f"{real.device}")


def _fail(name, number, said, real):
    raise RuntimeError(
        f"{name}: for result {number} the Meta kernel gives {said}; the kernel that ran gave {real}. A graph would be built on "
        'the first. Correct what register_fake (or impl(..., "Meta")) returns, or the kernel.'
    )


_C._set_mutation_probe(_copy, _differs)
_C._set_meta_probe(_expected, _compare)
