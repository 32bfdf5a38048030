"""Every operator whose kernel hands in its loops gives, fused with another one, what it gives by itself."""

from typing import Any

import pytest
from samples import LOW_PRECISION, Inputs, dtypes, samples

import mindtorch_v2 as torch
from mindtorch_v2._lowered.fusion import fuse
from mindtorch_v2._operators.table import ROWS
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils import _pytree as pytree

pytestmark = pytest.mark.no_torch

_CALLS = [
    (name, index)
    for name, row in sorted(ROWS.items())
    if row.body is None and not row.facts.draws and not row.handle.is_view and not row.handle.mutates
    for index in range(min(3, len(samples(row))))
]


def _after(result: Any) -> Any:
    """A second operator that any dtype has."""
    if not isinstance(result, torch.Tensor):
        return result
    return torch.logical_not(result) if result.dtype is torch.bool else torch.neg(result)


def _run_both(row: Any, index: int, dtype: str) -> int:
    inputs = Inputs(torch, row, index, dtype)
    flat, spec = pytree.tree_flatten((list(inputs.args), dict(inputs.kwargs)))
    places = [k for k, each in enumerate(flat) if isinstance(each, torch.Tensor)]
    packet = getattr(torch.ops.aten, row.handle.name)
    target = getattr(packet, row.handle.overload or "default")

    def function(*tensors: Any) -> Any:
        given = list(flat)
        for place, each in zip(places, tensors, strict=True):
            given[place] = each
        args, kwargs = pytree.tree_unflatten(given, spec)
        made = target(*args, **{k: getattr(torch, v) if k == "dtype" else v for k, v in kwargs.items()})
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        return [each for each in [*results, *map(_after, results)] if isinstance(each, torch.Tensor)]

    tensors = [flat[place].detach() for place in places]
    try:
        with torch.no_grad():
            module = make_fx(function, tracing_mode="fake")(*tensors)
    except Exception as error:  # noqa: BLE001  (values decide, or a sample that cannot be traced: nothing to fuse)
        pytest.skip(f"not traced: {type(error).__name__}")
    made = fuse(module)
    if not made.kernels:
        return 0
    with torch.no_grad():
        expected, found = module(*tensors), made.module(*tensors)
    for one, other in zip(expected, found, strict=True):
        assert one.dtype is other.dtype and one.shape == other.shape and one.stride() == other.stride()
        if dtype in LOW_PRECISION:
            torch.testing.assert_close(other, one, rtol=2e-2, atol=2e-2, equal_nan=True)
        else:
            torch.testing.assert_close(other, one, rtol=0, atol=0, equal_nan=True)
    return len(made.kernels)


@pytest.mark.parametrize(("name", "index"), _CALLS, ids=[f"{name}-{index}" for name, index in _CALLS])
def test_fused_is_alone(name: str, index: int) -> None:
    row = ROWS[name]
    for dtype in dtypes(row, samples(row)[index]):
        if dtype in ("float32", "float64", "bfloat16", "int64", "bool", "complex64"):
            _run_both(row, index, dtype)


def test_most_element_wise_operators_fuse() -> None:
    fused = sum(
        _run_both(ROWS[name], 0, "float32") for name in ("exp", "gelu", "sigmoid", "_softmax", "native_layer_norm")
    )
    assert fused == 5
