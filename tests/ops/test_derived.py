"""The checks that follow from every row of the operator table: no test is written by hand, only samples in the rows.

Expected numbers are PyTorch's: the snapshots below tests/snapshots/ops, or with `--live` the installed PyTorch itself.
The other checks compare forms of one operator with each other, and gradients with difference quotients.
"""

from typing import Any

import pytest
from comparison import difference
from expected import (
    RAISED,
    differentiable,
    is_random,
    live,
    lookup,
    uninitialised,
    unpack,
    upstream,
)
from samples import INTEGER, Inputs, dtypes, flat, samples, strided, to_array

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import ROWS

_CASES = [(name, index) for name in sorted(ROWS) for index in range(len(samples(ROWS[name])))]
_STEP = 1e-6
# Which of several equal elements is named is not specified, and whole numbers are often equal.
_TIES = ("kthvalue", "topk")


def _cases(keep: Any = lambda row: True) -> pytest.MarkDecorator:
    chosen = [(name, index) for name, index in _CASES if keep(ROWS[name])]
    return pytest.mark.parametrize(("name", "index"), chosen, ids=[f"{name}-{index}" for name, index in chosen])


@pytest.fixture
def entry(request: pytest.FixtureRequest) -> Any:
    """Look up what PyTorch gives: (row, sample number, dtype) -> entry. Fails where no snapshot says so."""

    def find(row: Any, index: int, dtype: str) -> dict[str, Any]:
        found = live(row, index, dtype) if request.config.getoption("--live") else lookup(row, index, dtype)
        if found is None:
            pytest.fail(f"no snapshot of {row.name}, sample {index}, {dtype}: run `make snapshots`")
        return found

    return find


def _run(row: Any, inputs: Inputs) -> list[Any]:
    torch.manual_seed(0)
    return flat(row.handle(*inputs.args, **inputs.kwargs))


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _first(row: Any, index: int) -> str:
    return dtypes(row, samples(row)[index])[0]


@_cases()
def test_values(name: str, index: int, entry: Any) -> None:
    row, failures = ROWS[name], []
    for dtype in dtypes(row, samples(row)[index]):
        theirs = entry(row, index, dtype)
        assert "absent" not in theirs, f"PyTorch has no operator {name}"
        if "error" in theirs:
            continue
        for place, (ours, packed) in enumerate(
            zip(_run(row, Inputs(torch, row, index, dtype)), theirs["out"], strict=True)
        ):
            problem = _compare(row, dtype, ours, packed)
            if problem:
                failures.append(f"{dtype}, result {place}: {problem}")
    assert not failures, "\n".join(failures)


def _compare(row: Any, swept: str, ours: Any, packed: dict[str, Any]) -> str | None:
    if "value" in packed:
        return (
            None if ours == packed["value"] or repr(ours) == packed["value"] else f"{ours}, expected {packed['value']}"
        )
    if _name(ours.dtype) != packed["dtype"]:
        return f"dtype {ours.dtype}, expected {packed['dtype']}"
    if "data" not in packed:
        return None if list(ours.shape) == packed["shape"] else f"shape {ours.shape}, expected {packed['shape']}"
    if packed["dtype"] == "int64" and swept in INTEGER and row.name in _TIES:
        return None
    if row.handle.is_view and list(ours.stride()) != packed["stride"]:
        return f"stride {ours.stride()}, expected {packed['stride']}"
    return difference(to_array(ours), unpack(packed), packed["dtype"])


@_cases(lambda row: "!" not in row.schema)
def test_results_that_are_arguments(name: str, index: int, entry: Any) -> None:
    """A row says whether its operator may give an argument back: a capture refuses `is` there."""
    row = ROWS[name]
    for dtype in dtypes(row, samples(row)[index]):
        if "error" in entry(row, index, dtype):
            continue
        inputs = Inputs(torch, row, index, dtype)
        given = [
            value for value in flat((inputs.args, list(inputs.kwargs.values()))) if isinstance(value, torch.Tensor)
        ]
        assert row.facts.gives_back or not any(result is value for result in _run(row, inputs) for value in given)


@_cases(lambda row: not uninitialised(row))
def test_gradients(name: str, index: int, entry: Any) -> None:
    row, failures = ROWS[name], []
    for dtype in set(dtypes(row, samples(row)[index])) & {"float32", "complex64"}:
        theirs = entry(row, index, dtype).get("grad")
        if theirs is None:
            continue
        inputs = Inputs(torch, row, index, dtype, grad=True)
        results = differentiable(torch, _run(row, inputs))
        if not results:
            assert not any(packed and unpack(packed).any() for packed in theirs), f"{dtype}: no result requires grad"
            continue
        grads = torch.autograd.grad(results, inputs.leaves, upstream(torch, row, results), allow_unused=True)
        for place, (ours, packed) in enumerate(zip(grads, theirs, strict=True)):
            if ours is None or packed is None:
                # PyTorch tells "no gradient" from zeros by its formulas; either may stand for the other.
                given = ours if packed is None else unpack(packed)
                if given is not None and bool((given != 0).any()):
                    failures.append(f"{dtype}, input {place}: {ours}, expected {packed and unpack(packed)}")
                continue
            problem = difference(to_array(ours), unpack(packed), packed["dtype"], factor=5)
            if problem:
                failures.append(f"{dtype}, input {place}: {problem}")
    assert not failures, "\n".join(failures)


# Columns that complete a basis are not unique, the rank that a tolerance leaves is taken as fixed, and what was drawn counts
# as independent of the mean.
_NO_SLOPES = ("linalg_svd", "linalg_pinv", "normal.Tensor_float")


@_cases(lambda row: (row.grad or row.body) and "!" not in row.schema and not uninitialised(row))
def test_gradients_are_slopes(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    if name in _NO_SLOPES:
        pytest.skip("PyTorch's formula is not the slope of what it computes")
    if "float64" not in dtypes(row, samples(row)[index]):
        pytest.skip("not claimed for float64")
    if not entry(row, index, "float32").get("grad"):
        pytest.skip("PyTorch gives no gradient here")
    inputs = Inputs(torch, row, index, "float64", grad=True)
    leaves = inputs.leaves
    if any(leaf.dtype != torch.float64 for leaf in leaves):
        pytest.skip("inputs of another precision")
    results = differentiable(torch, _run(row, inputs))
    if any(item.dtype != torch.float64 for item in results):
        pytest.skip("results of another precision")
    weights = upstream(torch, row, results)
    grads = torch.autograd.grad(results, leaves, weights, allow_unused=True)
    for place, (leaf, grad) in enumerate(zip(leaves, grads, strict=True)):
        direction = torch.linspace(0.5, 1.5, leaf.numel(), dtype=torch.float64).reshape(leaf.shape)
        ends = []
        for step in (_STEP, -_STEP):
            other = Inputs(torch, row, index, "float64", grad=True)
            with torch.no_grad():
                other.leaves[place].add_(direction, alpha=step)
            moved = differentiable(torch, _run(row, other))
            ends.append(sum((item.detach() * weight).sum().item() for item, weight in zip(moved, weights, strict=True)))
        slope = (ends[0] - ends[1]) / (2 * _STEP)
        if slope != slope:
            pytest.skip("the sample leaves the domain of the operator")
        claimed = 0.0 if grad is None else (grad * direction).sum().item()
        assert claimed == pytest.approx(slope, rel=1e-4, abs=1e-5), f"input {place}"


@_cases()
def test_meta_says_what_is_real(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    dtype = _first(row, index)
    theirs = entry(row, index, dtype)
    if not theirs.get("meta"):
        pytest.skip("PyTorch does not compute it on the meta device")
    real = _run(row, Inputs(torch, row, index, dtype))
    meta = _run(row, Inputs(torch, row, index, dtype, device="meta"))
    for one, other in zip(real, meta, strict=True):
        if isinstance(one, torch.Tensor):
            assert (other.shape, other.dtype, other.stride()) == (
                one.shape,
                one.dtype,
                one.stride(),
            )


@_cases(lambda row: row.inplace is not None)
def test_in_place_is_the_functional_form(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    for dtype in dtypes(row, samples(row)[index]):
        if "out" not in entry(row, index, dtype):
            continue
        (expected,) = _run(row, Inputs(torch, row, index, dtype))
        inputs = Inputs(torch, row, index, dtype)
        target = inputs.args[0]
        same_shape, fits = (
            expected.shape == target.shape or row.facts.quiet_out,  # it takes the result's size
            # abs of complex numbers is refused in place though a complex tensor could hold it.
            torch.can_cast(expected.dtype, target.dtype) and not (name == "abs" and target.is_complex()),
        )
        torch.manual_seed(0)
        if not (same_shape and fits):
            with pytest.raises(RAISED):
                row.inplace(*inputs.args, **inputs.kwargs)
            continue
        if expected.shape != target.shape:  # memory of NumPy's has its size
            inputs.args[0] = target = target.clone()
        version = target._version
        assert row.inplace(*inputs.args, **inputs.kwargs) is target
        assert target._version == version + 1
        problem = difference(to_array(target), to_array(expected.to(target.dtype)), _name(target.dtype))
        assert problem is None, f"{dtype}: {problem}"


@_cases(lambda row: row.inplace is not None and (row.grad or row.body))
def test_in_place_has_the_same_gradient(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    if "float32" not in dtypes(row, samples(row)[index]) or not entry(row, index, "float32").get("grad"):
        pytest.skip("PyTorch gives no gradient here")
    one, other = (Inputs(torch, row, index, "float32", grad=True) for _ in range(2))
    results = differentiable(torch, _run(row, one))
    if results[0].shape != one.args[0].shape or results[0].dtype != one.args[0].dtype:
        pytest.skip("no in-place form for this sample")
    weights = upstream(torch, row, results)
    expected = torch.autograd.grad(results, one.leaves, weights, allow_unused=True)
    target = other.args[0].clone()
    torch.manual_seed(0)
    row.inplace(target, *other.args[1:], **other.kwargs)
    actual = torch.autograd.grad([target], other.leaves, weights, allow_unused=True)
    for ours, theirs in zip(actual, expected, strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            problem = difference(to_array(ours), to_array(theirs), "float32")
            assert problem is None, problem


@_cases(lambda row: row.out is not None)
def test_out_is_written(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    dtype = _first(row, index)
    if "out" not in entry(row, index, dtype):
        pytest.skip("PyTorch refuses this sample")
    expected = _run(row, Inputs(torch, row, index, dtype))
    names = [argument["name"] for argument in row.out.arguments if argument["is_write"]]
    for prepare in (_empty, _ready, _ready_strided):
        inputs = Inputs(torch, row, index, dtype)
        given = [prepare(item) for item in expected]
        torch.manual_seed(0)
        places = {names[0]: given} if row.schema.endswith("Tensor[]") else dict(zip(names, given, strict=True))
        back = row.out(*inputs.args, **inputs.kwargs, **places)
        returned = given if back is None else flat(back)  # of a list nothing is returned
        for one, mine, wanted in zip(returned, given, expected, strict=True):
            assert one is mine
            problem = difference(to_array(mine), to_array(wanted), _name(wanted.dtype))
            assert problem is None, f"{prepare.__name__}: {problem}"


def _empty(item: Any) -> Any:
    return torch.empty(0, dtype=item.dtype)


def _ready(item: Any) -> Any:
    return torch.zeros(item.shape, dtype=item.dtype)


def _ready_strided(item: Any) -> Any:
    return strided(torch, torch.zeros(item.shape, dtype=item.dtype))


@_cases(lambda row: not is_random(row) and not uninitialised(row))
def test_strided_inputs(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    dtype = _first(row, index)
    theirs = entry(row, index, dtype)
    if not theirs.get("strided"):
        pytest.skip("PyTorch refuses, or gives other numbers")
    ours = _run(row, Inputs(torch, row, index, dtype, arrange=strided))
    for one, packed in zip(ours, theirs["out"], strict=True):
        if "data" not in packed:
            continue
        problem = difference(to_array(one), unpack(packed), packed["dtype"])
        assert problem is None, problem


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
@_cases()
def test_zero_size_inputs(name: str, index: int, entry: Any) -> None:
    row = ROWS[name]
    dtype = _first(row, index)
    theirs = entry(row, index, dtype).get("empty")
    if theirs is None:
        pytest.skip("PyTorch refuses this sample")
    inputs = Inputs(torch, row, index, dtype, empty=True)
    if isinstance(theirs, dict):
        with pytest.raises(RAISED):
            _run(row, inputs)
        return
    ours = [list(item.shape) if isinstance(item, torch.Tensor) else None for item in _run(row, inputs)]
    assert ours == theirs


@pytest.mark.parametrize("name", sorted(ROWS))
def test_wrong_types_are_named(name: str) -> None:
    handle = ROWS[name].handle
    required = [argument for argument in handle.arguments if not argument["has_default"]]
    if not required:
        pytest.skip("nothing is required")
    for arguments in ([], [object() for argument in required if not argument["kwarg_only"]], [None] * 40):
        with pytest.raises((TypeError, RuntimeError)):
            handle(*arguments)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_row_is_documented(name: str) -> None:
    assert ROWS[name].doc.endswith(".")
