"""Every CUDA kernel against the CPU's, whose numbers are PyTorch's (tests/ops): values and gradients of the rows' samples."""

from typing import Any

import pytest
from comparison import difference
from expected import differentiable, is_random, uninitialised, upstream
from samples import Inputs, dtypes, flat, samples, to_array

import mindtorch_v2 as torch
from mindtorch_v2._backends import cuda
from mindtorch_v2._backends.cuda import pointwise, table
from mindtorch_v2._operators.table import ROWS

_DTYPES = {"float32", "float16", "bfloat16", "int64", "bool"}
_TIES = ("kthvalue", "topk", "sort", "argsort")  # which of equal elements is named is not specified

cuda.load()
_KERNELS = sorted({*table.NAMES, *pointwise.KERNELS})
# Their samples have places that no pooling found, of which kernels that gather by window see a part.
_DRAWN_PLACES = {
    f"{name}_backward"
    for name in ("adaptive_max_pool2d", "adaptive_max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices")
}
_CASES = [
    (name, index)
    for name in _KERNELS
    if name != "log_sigmoid_backward"  # on GPUs it reads no buffer, as PyTorch's
    and name not in _DRAWN_PLACES
    and not is_random(ROWS[name])
    and not uninitialised(ROWS[name])
    and not ROWS[name].name.startswith("rand")
    for index in range(len(samples(ROWS[name])))
]
_cases = pytest.mark.parametrize(("name", "index"), _CASES, ids=[f"{name}-{index}" for name, index in _CASES])


def _run(row: Any, inputs: Inputs, device: str) -> list[Any]:
    if any(argument["name"] == "device" for argument in row.handle.arguments):
        inputs.kwargs.setdefault("device", device)
    return flat(row.handle(*inputs.args, **inputs.kwargs))


def _problem(ours: Any, theirs: Any, factor: float = 1) -> str | None:
    if not isinstance(theirs, torch.Tensor):
        return None if repr(ours) == repr(theirs) else f"{ours}, not {theirs}"
    if (ours.dtype, ours.shape, ours.device.type) != (theirs.dtype, theirs.shape, "cuda"):
        return f"{ours.dtype} {ours.shape} on {ours.device}, not {theirs.dtype} {theirs.shape}"
    return difference(to_array(ours.cpu()), to_array(theirs), str(theirs.dtype)[6:], factor)


@_cases
def test_values(name: str, index: int) -> None:
    row, problems, ran = ROWS[name], [], False
    for dtype in dtypes(row, samples(row)[index]):
        if dtype not in _DTYPES:
            continue
        try:
            theirs = _run(row, Inputs(torch, row, index, dtype), "cpu")
        except (RuntimeError, NotImplementedError, TypeError):
            continue  # the CPU has none for this dtype
        ran = True
        ours = _run(row, Inputs(torch, row, index, dtype, device="cuda"), "cuda")
        for place, (mine, wanted) in enumerate(zip(ours, theirs, strict=True)):
            if name in _TIES and place == 1:
                continue
            if problem := _problem(mine, wanted):
                problems.append(f"{dtype}, result {place}: {problem}")
    if not ran:
        pytest.skip("no dtype of these")
    assert not problems, "\n".join(problems)


@_cases
def test_gradients(name: str, index: int) -> None:
    row = ROWS[name]
    if "float32" not in dtypes(row, samples(row)[index]):
        pytest.skip("no float32")
    here, there = (Inputs(torch, row, index, "float32", grad=True, device=d) for d in ("cpu", "cuda"))
    try:
        theirs = differentiable(torch, _run(row, here, "cpu"))
    except (RuntimeError, NotImplementedError, TypeError):
        theirs = []  # what the sample gives is no argument of the operator itself
    if not theirs:
        pytest.skip("no result requires grad")
    ours = differentiable(torch, _run(row, there, "cuda"))
    weights = upstream(torch, row, [torch.empty(r.shape, dtype=r.dtype) for r in theirs])
    try:
        expected = torch.autograd.grad(theirs, here.leaves, weights, allow_unused=True)
    except (RuntimeError, NotImplementedError):
        pytest.skip("the CPU has no gradient here")
    grads = torch.autograd.grad(ours, there.leaves, [w.to("cuda") for w in weights], allow_unused=True)
    for mine, wanted in zip(grads, expected, strict=True):
        assert (mine is None) == (wanted is None)
        problem = None if wanted is None else _problem(mine, wanted, factor=5)
        assert problem is None, problem
