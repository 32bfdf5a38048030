"""Calls and results of operators as a few numbers: how a table of PyTorch's answers is written, and how it is read.

A call's tensors are kept whole, as multiples of 1/1024 where that is exact. Of a result its sums are kept, over elements
that are weighed each in its own way, so that neither a wrong element nor a wrong order goes unseen.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy
from samples import to_array

STEP = 1024
_WHOLE = 4  # Results of so many elements are kept whole.
# Relative to the sum of the elements' sizes, and absolute for each element.
_TOLERANCES = {
    "float64": (1e-8, 1e-9),
    "complex128": (1e-8, 1e-9),
    "float32": (2e-5, 1e-6),
    "complex64": (2e-5, 1e-6),
    "float16": (4e-3, 2e-3),
    "bfloat16": (2e-2, 1e-2),
    "complex32": (4e-3, 2e-3),
}


def weights(count: int) -> numpy.ndarray:
    """Numbers between 0.5 and 1.5 with either sign, none of them twice in a short run."""
    places = numpy.arange(count, dtype=numpy.float64)
    return (0.5 + (places * 0.6180339887498949) % 1.0) * numpy.where(places * 0.4142135623730951 % 1.0 < 0.5, 1, -1)


def encode(value: Any) -> Any:
    """An argument as JSON has it; LookupError for what a table cannot keep."""
    kind = type(value).__name__
    if value is None or kind in ("bool", "int", "float", "str"):
        return value
    if kind == "complex":
        return {"c": [value.real, value.imag]}
    if kind in ("Tensor", "Parameter"):
        return _tensor(value)
    if kind == "list":
        return [encode(item) for item in value]
    if kind in ("tuple", "Size"):
        return {"u": [encode(item) for item in value]}
    if kind == "slice":
        return {"s": [encode(value.start), encode(value.stop), encode(value.step)]}
    if kind == "ellipsis":
        return {"e": 0}
    if kind in ("dtype", "layout", "memory_format"):
        return {"n": str(value).rpartition(".")[2]}
    if kind == "device":
        return {"d": str(value)}
    if isinstance(value, numpy.generic):
        return encode(value.item())
    raise LookupError(kind)


def _tensor(tensor: Any) -> dict[str, Any]:
    if str(tensor.layout) != "torch.strided" or tensor.device.type != "cpu" or tensor.is_quantized:
        raise LookupError("layout")
    array = numpy.ascontiguousarray(to_array(tensor))
    said: dict[str, Any] = {"t": str(tensor.dtype).rpartition(".")[2], "z": list(tensor.shape)}
    if array.dtype.kind in "biu":
        said["i"] = array.ravel().astype(object if array.dtype == numpy.uint64 else numpy.int64).tolist()
    else:
        parts = array.ravel().view(array.real.dtype).astype(numpy.float64)
        steps = parts * STEP
        if numpy.isfinite(steps).all() and (steps == numpy.rint(steps)).all() and (numpy.abs(steps) < 2**40).all():
            said["q"] = numpy.rint(steps).astype(numpy.int64).tolist()
        else:
            said["b"] = base64.b64encode(array.tobytes()).decode()
    if not tensor.is_contiguous() and 0 not in tensor.stride():
        said["s"] = list(tensor.stride())
    if tensor.requires_grad:
        said["g"] = 1
    return said


def decode(torch: ModuleType, value: Any, leaf: Callable[[Any], Any], device: str = "cpu") -> Any:
    """An argument as `torch` takes it; in place of a tensor that needs a gradient stands what `leaf` makes of it."""
    if isinstance(value, list):
        return [decode(torch, item, leaf, device) for item in value]
    if not isinstance(value, dict):
        return value
    if "t" in value:
        tensor = _decoded_tensor(torch, value)
        if device != "cpu":
            tensor = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
        return leaf(tensor) if "g" in value else tensor
    ((letter, content),) = value.items()
    if letter == "u":
        return tuple(decode(torch, item, leaf, device) for item in content)
    if letter == "s":
        return slice(*(decode(torch, item, leaf, device) for item in content))
    if letter == "c":
        return complex(*content)
    if letter == "n":
        return getattr(torch, content)
    return torch.device(device if content == "cpu" else content) if letter == "d" else ...


def _decoded_tensor(torch: ModuleType, value: dict[str, Any]) -> Any:
    name = value["t"]
    reals = {"complex32": "float32", "complex64": "float32", "complex128": "float64", "bfloat16": "float32"}
    real, wide = reals.get(name, name), "complex" in name
    if "i" in value:
        array = numpy.array(value["i"], dtype=real)
    elif "q" in value:
        array = (numpy.array(value["q"], dtype=numpy.float64) / STEP).astype(real)
    else:
        array = numpy.frombuffer(base64.b64decode(value["b"]), dtype=real).copy()
    if wide:
        array = array.view("complex128" if real == "float64" else "complex64")
    tensor = torch.from_numpy(array.reshape(value["z"])).to(getattr(torch, name))
    if "s" in value:
        laid = torch.empty_strided(value["z"], value["s"], dtype=tensor.dtype)
        tensor = laid.copy_(tensor)
    return tensor


def flat(result: Any) -> list[Any]:
    """Results of a call, lists and tuples and dictionaries looked into."""
    if isinstance(result, list | tuple):
        return [item for part in result for item in flat(part)]
    if isinstance(result, dict):
        return [item for part in result.values() for item in flat(part)]
    return [result]


def is_tensor(value: Any) -> bool:
    """Whether a result is a tensor of either library."""
    return hasattr(value, "dtype") and hasattr(value, "stride")


def weigh(result: Any, values: bool = True) -> Any:
    """One result of a call as the table has it: [dtype, shape, special values, numbers]."""
    if not is_tensor(result):
        return (
            {"v": encode(result)}
            if isinstance(result, bool | int | float | complex) or result is None
            else {"v": str(result)}
        )
    dtype, shape = str(result.dtype).rpartition(".")[2], list(result.shape)
    if not values:
        return [dtype, shape]
    specials, numbers, _ = _weighed(result)
    return [dtype, shape, specials, [float(f"{number:.10g}") for number in numbers]]


def _weighed(result: Any) -> tuple[list[int], numpy.ndarray, float]:
    """(counts of nan, inf and -inf; the sums, or all elements of a small result; the sum of the elements' sizes)."""
    array = to_array(result)
    parts = array.ravel()
    if parts.dtype.kind == "c":
        parts = parts.view(parts.real.dtype)
    parts = parts.astype(numpy.float64)
    finite = numpy.isfinite(parts)
    specials = [int(numpy.isnan(parts).sum()), int((parts == numpy.inf).sum()), int((parts == -numpy.inf).sum())]
    known = numpy.where(finite, parts, 0.0)
    size = float(numpy.abs(known).sum())
    if parts.size <= _WHOLE:
        return specials, known, size
    return specials, numpy.array([(known * weights(parts.size)).sum(), known.sum(), known[0], known[-1]]), size


def unlike(ours: Any, theirs: Any) -> str | None:
    """None if a result is the one of the table; else a sentence on the difference."""
    if isinstance(theirs, dict):
        found = weigh(ours)
        if isinstance(found, dict) and isinstance(found["v"], float) and isinstance(theirs["v"], float):
            return (
                None if numpy.isclose(found["v"], theirs["v"], rtol=1e-6, equal_nan=True) else f"{found} for {theirs}"
            )
        same = found == theirs or (
            isinstance(found, dict) and str(found["v"]).replace("mindtorch_v2", "torch") == str(theirs["v"])
        )
        return None if same else f"{found} for {theirs}"
    if not is_tensor(ours):
        return f"{ours!r} for a tensor"
    dtype, shape, *rest = theirs
    if (str(ours.dtype).rpartition(".")[2], list(ours.shape)) != (dtype, shape):
        return f"{ours.dtype} {list(ours.shape)} for {dtype} {shape}"
    if not rest:
        return None
    specials, numbers, size = _weighed(ours)
    if specials != rest[0]:
        return f"[nan, inf, -inf] {specials} for {rest[0]}"
    relative, absolute = _TOLERANCES.get(dtype, (1e-9, 0.0))
    room = relative * size + absolute * max(1, ours.numel() ** 0.5)
    expected = numpy.array(rest[1])
    worst = numpy.abs(numbers - expected).max(initial=0.0)
    return None if worst <= room else f"off by {worst:.3g}, {room:.3g} allowed: {numbers.tolist()} for {rest[1]}"
