"""`torch.fx` and what builds on it, case by case: what PyTorch 2.13 answered is in the `*_cases.json` beside."""

import importlib
import json
import warnings
from pathlib import Path

import pytest
import reference

HERE = Path(__file__).parent
FAMILIES = sorted(path.stem for path in HERE.glob("*_cases.json"))
RECORDED = {family: json.loads((HERE / f"{family}.json").read_text()) for family in FAMILIES}
PROGRAMS = {family: importlib.import_module(family).CASES for family in FAMILIES}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in FAMILIES for name in RECORDED[family]])
def test_case(family: str, name: str) -> None:
    if reference.is_reference():
        pytest.skip("these are PyTorch's answers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = PROGRAMS[family][name]()
    assert json.loads(json.dumps(result)) == RECORDED[family][name]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_case_has_its_program(family: str) -> None:
    assert set(RECORDED[family]) == set(PROGRAMS[family])
