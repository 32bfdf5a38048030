"""Every NPU kernel against PyTorch's numbers: values, gradients, strided inputs, in-place and out= forms, on the emulator."""

from typing import Any

import numpy
import pytest
from comparison import difference
from expected import differentiable, is_random, lookup, uninitialised, unpack, upstream
from npu_rows import CASES, DRAWS, EMPTY
from samples import Inputs, dtypes, flat, samples, strided, to_array

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import complex_numbers, table
from mindtorch_v2._operators.table import ROWS

_TIES = ("kthvalue", "topk")
_COMPLEX = ("complex64", "complex128")
_WITH_COMPLEX = complex_numbers.BY_RESULT.keys() | complex_numbers.BY_ARGUMENTS.keys()


def _has_kernel(name: str, dtype: str) -> bool:
    return dtype not in _COMPLEX or name in _WITH_COMPLEX


# Where the device's formula rounds otherwise than the CPU's: a factor on the tolerance.
_FACTORS = {"erfinv": 10}


torch.npu.init()  # these files are collected where the emulator is
# Those that the back end states; what makes sparse tensors of dense ones is the subject of test_sparse.py.
_KERNELS = sorted(name for name, row in ROWS.items() if name in table.NAMES and "NPU" in row.handle.kernels())
_CASES = [
    (name, index)
    for name in _KERNELS
    for index in range(len(samples(ROWS[name])))
    if not is_random(ROWS[name]) and not uninitialised(ROWS[name]) and not name.startswith("rand")
]
_cases = pytest.mark.parametrize(("name", "index"), _CASES, ids=[f"{name}-{index}" for name, index in _CASES])


def _run(row: Any, inputs: Inputs) -> list[Any]:
    if any(argument["name"] == "device" for argument in row.handle.arguments):
        inputs.kwargs.setdefault("device", "npu")
    return flat(row.handle(*inputs.args, **inputs.kwargs))


def _expected(row: Any, index: int, dtype: str) -> dict[str, Any]:
    theirs = lookup(row, index, dtype)
    return {} if theirs is None or "error" in theirs or "absent" in theirs else theirs


def _problem(row: Any, swept: str, ours: Any, packed: dict[str, Any], factor: float = 1) -> str | None:
    if "value" in packed:
        return None if repr(ours) == repr(packed["value"]) or repr(ours) == packed["value"] else f"{ours}"
    if "data" not in packed or (packed["dtype"] == "int64" and row.name in _TIES):
        return None if list(ours.shape) == packed["shape"] else f"shape {list(ours.shape)}, not {packed['shape']}"
    if str(ours.dtype) != f"torch.{packed['dtype']}":
        return f"dtype {ours.dtype}, expected {packed['dtype']}"
    if ours.device.type != "npu":
        return f"it came out on {ours.device}"
    return difference(to_array(ours.cpu()), unpack(packed), packed["dtype"], factor * _FACTORS.get(row.name, 1))


@_cases
def test_values(name: str, index: int) -> None:
    row, problems = ROWS[name], []
    for dtype in dtypes(row, samples(row)[index]):
        theirs = _expected(row, index, dtype)
        if not theirs or not _has_kernel(name, dtype):
            continue
        for place, (ours, packed) in enumerate(
            zip(_run(row, Inputs(torch, row, index, dtype, device="npu")), theirs["out"], strict=True)
        ):
            if name == "_cross_entropy" and place == 1:
                continue  # what the CPU's kernel keeps for its gradient
            if problem := _problem(row, dtype, ours, packed):
                problems.append(f"{dtype}, result {place}: {problem}")
    assert not problems, "\n".join(problems)


@_cases
def test_gradients(name: str, index: int) -> None:
    row = ROWS[name]
    if "float32" not in dtypes(row, samples(row)[index]):
        pytest.skip("no float32")
    theirs = _expected(row, index, "float32").get("grad")
    if theirs is None:
        pytest.skip("PyTorch gives no gradient here")
    inputs = Inputs(torch, row, index, "float32", grad=True, device="npu")
    results = differentiable(torch, _run(row, inputs))
    if not results:
        pytest.skip("no result requires grad")
    weights = [w.to("npu") for w in upstream(torch, row, [torch.empty(r.shape, dtype=r.dtype) for r in results])]
    grads = torch.autograd.grad(results, inputs.leaves, weights, allow_unused=True)
    for ours, packed in zip(grads, theirs, strict=True):
        if ours is None or packed is None:
            given = ours.cpu().numpy() if packed is None and ours is not None else packed and unpack(packed)
            assert given is None or not numpy.any(given)
            continue
        problem = difference(to_array(ours.cpu()), unpack(packed), packed["dtype"], factor=5 * _FACTORS.get(name, 1))
        assert problem is None, problem


@_cases
def test_strided_inputs(name: str, index: int) -> None:
    row = ROWS[name]
    dtype = dtypes(row, samples(row)[index])[0]
    theirs = _expected(row, index, dtype)
    if not theirs.get("strided") or not _has_kernel(name, dtype):
        pytest.skip("PyTorch refuses, or gives other numbers")
    inputs = Inputs(torch, row, index, dtype, device="npu")
    inputs.args = [_strided(value) for value in inputs.args]
    for place, (ours, packed) in enumerate(zip(_run(row, inputs), theirs["out"], strict=True)):
        if name == "_cross_entropy" and place == 1:
            continue
        problem = _problem(row, dtype, ours, packed)
        assert problem is None, problem


def _strided(value: Any) -> Any:
    return strided(torch, value) if isinstance(value, torch.Tensor) else value


@_cases
def test_in_place_and_out(name: str, index: int) -> None:
    row = ROWS[name]
    dtype = dtypes(row, samples(row)[index])[0]
    theirs = _expected(row, index, dtype)
    if not theirs or not _has_kernel(name, dtype) or (row.out is None and row.inplace is None):
        pytest.skip("no such form, or PyTorch refuses")
    expected = _run(row, Inputs(torch, row, index, dtype, device="npu"))
    if row.out is not None:
        inputs = Inputs(torch, row, index, dtype, device="npu")
        names = [argument["name"] for argument in row.out.arguments if argument["is_write"]]
        given = [strided(torch, torch.zeros_like(item)) for item in expected]
        row.out(*inputs.args, **inputs.kwargs, **dict(zip(names, given, strict=True)))
        for mine, wanted in zip(given, expected, strict=True):
            assert difference(to_array(mine.cpu()), to_array(wanted.cpu()), str(wanted.dtype)[6:]) is None
    if row.inplace is not None:
        inputs = Inputs(torch, row, index, dtype, device="npu")
        target = inputs.args[0]
        if target.shape == expected[0].shape and target.dtype == expected[0].dtype:
            assert row.inplace(*inputs.args, **inputs.kwargs) is target
            problem = difference(to_array(target.cpu()), to_array(expected[0].cpu()), str(target.dtype)[6:])
            assert problem is None, problem


def test_every_kernel_was_run(kernels_run: set[str], request: Any) -> None:
    """By the recorded samples, or by a call of npu_rows.py."""
    if len([item for item in request.session.items if item.module is request.module]) <= len(_CASES):
        pytest.skip("only a part of this file is run")
    assert len(_KERNELS) > 390
    assert set(_KERNELS) - kernels_run <= {*CASES, *EMPTY, *DRAWS}
