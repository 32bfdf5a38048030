"""torch.func and forward mode, against what PyTorch 2.13 answered (`func_cases.json`)."""

import json
import math
from pathlib import Path
from typing import Any

import func_cases
import pytest
from record_cases import described

import mindtorch_v2 as torch
from mindtorch_v2.func import hessian, vmap

RECORDED = json.loads(Path(__file__).with_name("func_cases.json").read_text())
# PyTorch 2.13 takes what a first derivative saved for constants in a second one by forward mode: its own answers disagree
# with each other. These are compared with its Hessian, which is right.
_SECOND = ("norm", "matrix")
BY_HESSIAN = {f"{kind} {name}" for kind in ("grad jvp", "jvp jvp", "jacfwd jacfwd") for name in _SECOND}


def _by_hessian(name: str) -> Any:
    kind, function = name.rsplit(" ", 1)[0], name.rsplit(" ", 1)[1]
    hessian = torch.tensor(RECORDED[f"hessian {function}"]["data"], dtype=torch.float64)
    if kind == "jacfwd jacfwd":
        return hessian
    along = hessian @ func_cases.X[1]
    if kind == "grad jvp":
        return along
    first = torch.tensor(RECORDED[f"jvp {function}"][1]["data"], dtype=torch.float64)
    return first, along @ func_cases.X[2]


def _same(found: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert isinstance(found, dict), where
        assert set(found) == set(expected), where
        for key, value in expected.items():
            _same(found[key], value, f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, list), where
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            _same(found[place], value, f"{where}[{place}]")
    elif isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-6, abs_tol=1e-8) or (found != found and expected != expected), (
            where
        )
    else:
        assert found == expected, where


@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize("name", [name for name in func_cases.CASES if name != "vmap hessian matrix"])
def test_case(name: str) -> None:
    expected = described(_by_hessian(name)) if name in BY_HESSIAN else RECORDED[name]
    _same(json.loads(json.dumps(described(func_cases.CASES[name]()))), expected, name)


def test_second_derivatives_of_a_determinant_under_vmap() -> None:
    """PyTorch's are not symmetric here but for the first slice: slice by slice is the measure."""
    determinant = func_cases.SCALAR["matrix"]
    together = vmap(hessian(determinant))(func_cases.X)
    _same(described(together[0]), RECORDED["hessian matrix"], "first slice")
    for slice_of_it in together:
        assert torch.allclose(slice_of_it, slice_of_it.T)
    one_by_one = torch.stack([hessian(determinant)(x) for x in func_cases.X])
    assert torch.allclose(together, one_by_one)


def test_every_case_is_recorded() -> None:
    assert set(RECORDED) == set(func_cases.CASES)
