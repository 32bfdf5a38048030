"""Checks of the calls that `verify` makes of rows of Ascend's namespaces, as those of their samples: gradients, meta tensors, schema."""

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._operators.table import rows_of
from mindtorch_v2.npu._calls import placed
from mindtorch_v2.npu.verify import CALLS, has_gradient
from mindtorch_v2.testing import assert_close

ROWS = {f"{space}::{name}": row for space in ("npu", "atb") for name, row in rows_of(space).items()}
CASES = [(name, index) for name in sorted(CALLS.keys() & ROWS.keys()) for index in range(len(CALLS[name]))]
cases = pytest.mark.parametrize(("name", "index"), CASES, ids=[f"{name}-{index}" for name, index in CASES])
_WITHOUT = {"npu::npu_roi_align": [1]}  # arguments that are looked at without a gradient: regions
_UNMARKED = {
    "npu::npu_kv_rmsnorm_rope_cache",
    "npu::npu_mla_prolog",
    "npu::npu_mla_prolog_v2",
}  # torch_npu's schemas do not say that caches are written


def _overload(name: str) -> Any:
    handle = ROWS[name].handle
    return getattr(getattr(getattr(torch.ops, handle.namespace), handle.name), handle.overload or "default")


def _sizes_are_numbers(name: str) -> bool:
    """Whether the sizes of a row's results are known only where its arguments have numbers."""
    return torch.Tag.dynamic_output_shape in _overload(name).tags


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _tensors(item)]
    return []


def _arguments(
    name: str, index: int, dtype: Any = torch.float32, device: str = "cpu"
) -> tuple[list[Any], dict[str, Any]]:
    args, kwargs = CALLS[name][index]
    return [placed(each, device, dtype) for each in args], {
        key: placed(each, device, dtype) for key, each in kwargs.items()
    }


def _wide(value: Any) -> Any:
    """An argument's copy; what floats in float32 or float64 in float64."""
    if isinstance(value, torch.Tensor):
        floats = value.dtype in (torch.float32, torch.float64)
        return value.to(torch.float64 if floats else value.dtype, copy=True)
    return list(map(_wide, value)) if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "index"), [(name, index) for name, index in CASES if has_gradient(ROWS[name])])
def test_gradients_are_difference_quotients(name: str, index: int) -> None:
    args, kwargs = list(map(_wide, CALLS[name][index][0])), {k: _wide(v) for k, v in CALLS[name][index][1].items()}
    given = [each for place, each in enumerate(args) if place not in _WITHOUT.get(name, [])]
    leaves = [each for each in _tensors([*given, *kwargs.values()]) if each.dtype == torch.float64]
    for leaf in leaves:
        leaf.requires_grad_()

    def call(*_: torch.Tensor) -> list[torch.Tensor]:
        return [each for each in _tensors(ROWS[name].handle(*args, **kwargs)) if each.requires_grad]

    assert call()
    assert torch.autograd.gradcheck(call, tuple(leaves))


@cases
def test_meta_tensors_have_the_form_of_real_ones(name: str, index: int) -> None:
    handle = ROWS[name].handle
    args, kwargs = _arguments(name, index)
    real = _tensors(handle(*args, **kwargs))
    args, kwargs = _arguments(name, index, device="meta")
    if _sizes_are_numbers(name):
        with pytest.raises(RuntimeError, match="sizes are numbers of"):
            handle(*args, **kwargs)
        return
    meta = _tensors(handle(*args, **kwargs))
    forms = [[(each.shape, each.dtype, each.stride()) for each in made] for made in (meta, real)]
    assert forms[0] == forms[1] and all(each.device.type == "meta" for each in meta)


@pytest.mark.filterwarnings("ignore:.*marks .* as written, but the call did not change")
@cases
def test_the_schema_tells_the_truth(name: str, index: int) -> None:
    row = ROWS[name]
    kinds = [] if name in _UNMARKED else ["test_schema"]
    if "CompositeExplicitAutograd" in row.handle.kernels() and not _sizes_are_numbers(
        name
    ):  # others are recorded as the operators of their bodies
        kinds.append("test_faketensor")
    args, kwargs = _arguments(name, index)
    torch.library.opcheck(_overload(name), tuple(args), kwargs, test_utils=kinds)


@cases
def test_a_call_gives_the_same_twice(name: str, index: int) -> None:
    """And writes nothing that its schema does not say."""
    handle = ROWS[name].handle
    results = [_tensors(handle(*args, **kwargs)) for args, kwargs in (_arguments(name, index) for _ in range(2))]
    assert_close(results[0], results[1], rtol=0, atol=0, equal_nan=True)
