"""The answers of PyTorch for a row's samples: recorded by it, kept as snapshots, looked up by the derived tests.

An entry holds, for one row, sample and dtype:

    out      one item per result: {dtype, shape, stride, data} of a tensor, {value} of anything else; no data for
             results that mean nothing, and in dtypes that NumPy lacks
    error    instead of `out`, the class of what PyTorch raises
    grad     float32 and complex64: gradients of the leaves for seeded gradients of the results, null where undefined
    meta     whether PyTorch computes it on the meta device
    strided  whether inputs that are not contiguous give the same numbers
    empty    shapes of the results with the first dimension empty, or the class of the error

The last three are in the entry of a sample's first dtype only.
"""

import base64
import functools
import importlib
import json
import os
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
from samples import Inputs, digest, dtypes, flat, from_array, numbers, samples, strided, to_array

SNAPSHOTS = Path(__file__).parent.parent / "snapshots" / "ops"
RAISED = (
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    ArithmeticError,
)
_GRADIENT_DTYPES = ("float32", "complex64")


def uninitialised(row: Any) -> bool:
    """Whether the numbers of the row's results mean nothing."""
    return row.facts.unfilled


def is_random(row: Any) -> bool:
    """Whether the row draws from a generator."""
    return "Generator" in row.schema or "dropout" in row.name


def operator(torch: ModuleType, row: Any) -> Any:
    """PyTorch's own operator of that name and overload, else its method or attribute; None if it has neither."""
    name, _, overload = row.name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, name), overload or "default")
    except AttributeError:
        method = getattr(torch.Tensor, name, None)
        return method if callable(method) or method is None else lambda tensor: getattr(tensor, name)


def record(torch: ModuleType, row: Any, index: int, dtype: str, first: bool) -> dict[str, Any]:
    """The entry of one sample in one dtype. `torch` is the real PyTorch."""
    call = operator(torch, row)
    entry: dict[str, Any] = {
        "row": row.name,
        "sample": index,
        "dtype": dtype,
        "spec": digest(row, samples(row)[index]),
    }
    if call is None:
        return entry | {"absent": True}
    try:
        out = _run(torch, call, Inputs(torch, row, index, dtype))
    except RAISED as error:
        return entry | {"error": type(error).__name__}
    entry["out"] = [_pack(item, with_data=not uninitialised(row)) for item in out]
    if dtype in _GRADIENT_DTYPES:
        entry["grad"] = _gradients(torch, call, row, index, dtype)
    if first:
        entry["meta"] = _works_on_meta(torch, call, row, index, dtype)
        entry["strided"] = not is_random(row) and _same_if_strided(torch, call, row, index, dtype, out)
        entry["empty"] = _shapes_if_empty(torch, call, row, index, dtype)
    return entry


def _run(torch: ModuleType, call: Any, inputs: Inputs) -> list[Any]:
    torch.manual_seed(0)
    return flat(call(*inputs.args, **inputs.kwargs))


def differentiable(torch: ModuleType, results: list[Any]) -> list[Any]:
    """The results that a gradient can flow back from."""
    return [item for item in results if isinstance(item, torch.Tensor) and item.requires_grad]


def upstream(torch: ModuleType, row: Any, results: list[Any]) -> list[Any]:
    """Seeded gradients for `results`."""
    made = []
    for place, item in enumerate(results):
        name = str(item.dtype).rpartition(".")[2]
        made.append(
            from_array(
                torch,
                numbers(f"{row.name}/upstream/{place}", tuple(item.shape), name),
                name,
            )
        )
    return made


def _gradients(torch: ModuleType, call: Any, row: Any, index: int, dtype: str) -> list[Any] | None:
    try:
        inputs = Inputs(torch, row, index, dtype, grad=True)
        results = differentiable(torch, _run(torch, call, inputs))
        if not results:
            return None
        grads = torch.autograd.grad(results, inputs.leaves, upstream(torch, row, results), allow_unused=True)
    except RAISED:
        return None
    return [None if grad is None else _pack(grad, with_data=True) for grad in grads]


def _works_on_meta(torch: ModuleType, call: Any, row: Any, index: int, dtype: str) -> bool:
    try:
        _run(torch, call, Inputs(torch, row, index, dtype, device="meta"))
    except RAISED:
        return False
    return True


def _same_if_strided(torch: ModuleType, call: Any, row: Any, index: int, dtype: str, out: list[Any]) -> bool:
    try:
        others = _run(torch, call, Inputs(torch, row, index, dtype, arrange=strided))
    except RAISED:
        return False
    return all(
        isinstance(one, torch.Tensor) and torch.allclose(one, other, rtol=1e-3, atol=1e-3, equal_nan=True)
        for one, other in zip(out, others, strict=True)
    )


def _shapes_if_empty(torch: ModuleType, call: Any, row: Any, index: int, dtype: str) -> Any:
    """In a child process: on some empty inputs PyTorch divides by zero, and its process ends. None if it does."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            out = _run(torch, call, Inputs(torch, row, index, dtype, empty=True))
            answer: Any = [list(item.shape) if isinstance(item, torch.Tensor) else None for item in out]
        except RAISED as error:
            answer = {"error": type(error).__name__}
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def _pack(item: Any, with_data: bool) -> dict[str, Any]:
    if not hasattr(item, "dtype"):
        return {"value": item if isinstance(item, bool | int | float | str | None) else repr(item)}
    packed = {
        "dtype": str(item.dtype).rpartition(".")[2],
        "shape": list(item.shape),
        "stride": list(item.stride()),
    }
    if with_data and (packed["dtype"] == "bfloat16" or hasattr(numpy, str(packed["dtype"]))):
        packed["data"] = base64.b64encode(to_array(item).tobytes()).decode()
    return packed


def unpack(packed: dict[str, Any]) -> numpy.ndarray:
    """The numbers of a packed tensor."""
    stored = "float32" if packed["dtype"] == "bfloat16" else packed["dtype"]
    data = numpy.frombuffer(base64.b64decode(packed["data"]), dtype=stored)
    return data.reshape(packed["shape"])


def record_row(torch: ModuleType, row: Any) -> list[dict[str, Any]]:
    """The entries of all samples of a row."""
    return [
        record(torch, row, index, dtype, first=dtype == dtypes(row, sample)[0])
        for index, sample in enumerate(samples(row))
        for dtype in dtypes(row, sample)
    ]


def write(family: str, entries: list[dict[str, Any]]) -> Path:
    """Replace a family's snapshot; one line an entry, so that a change shows as what it is."""
    SNAPSHOTS.mkdir(parents=True, exist_ok=True)
    path = SNAPSHOTS / f"{family}.jsonl"
    path.write_text(
        "".join(json.dumps(entry, separators=(",", ":")) + "\n" for entry in entries),
        encoding="utf-8",
    )
    return path


@functools.cache
def _snapshot(family: str) -> dict[tuple[str, int, str], dict[str, Any]]:
    path = SNAPSHOTS / f"{family}.jsonl"
    if not path.exists():
        return {}
    entries = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(entry["row"], entry["sample"], entry["dtype"]): entry for entry in entries}


def lookup(row: Any, index: int, dtype: str) -> dict[str, Any] | None:
    """The snapshot's entry; None if there is none, or one of another sample."""
    entry = _snapshot(row.family).get((row.name, index, dtype))
    return entry if entry and entry["spec"] == digest(row, samples(row)[index]) else None


@functools.cache
def _live(name: str, index: int, dtype: str) -> dict[str, Any]:
    rows = importlib.import_module("mindtorch_v2._operators.table").ROWS
    mode = importlib.import_module("generic_bernoulli").GenericBernoulli
    row = rows[name]
    with mode():
        first = dtype == dtypes(row, samples(row)[index])[0]
        return record(importlib.import_module("torch"), row, index, dtype, first)


def live(row: Any, index: int, dtype: str) -> dict[str, Any]:
    """The entry, recorded now. Needs the real PyTorch."""
    return _live(row.name, index, dtype)


def is_inner(row) -> bool:
    """Whether it is a row of `_operators/inner`: what gradients and graphs consist of, by PyTorch's names.

    They are composed, and have no rules of their own for vmap, nor for tensors of several devices.
    """
    return "._operators.inner" in (getattr(row.body, "__module__", None) or "")
