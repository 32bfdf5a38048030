"""`torch.fx` and what builds on it, case by case: what PyTorch 2.13 answered is in the `*_cases.json` beside."""

import importlib
import json
import sys
import warnings
from pathlib import Path

import pytest
import reference

HERE = Path(__file__).parent
FAMILIES = sorted(path.stem for path in HERE.glob("*_cases.json"))
RECORDED = {family: json.loads((HERE / f"{family}.json").read_text()) for family in FAMILIES}
PROGRAMS = {family: importlib.import_module(family).CASES for family in FAMILIES}

# From 3.14 on Python has one type of unions, which was recorded as two.
ONE_UNION = {"typing_Union[int,NoneType]": "int|NoneType", "typing.Optional[int]": "int | None"}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in FAMILIES for name in RECORDED[family]])
def test_case(family: str, name: str) -> None:
    if reference.is_reference():
        pytest.skip("these are PyTorch's answers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = PROGRAMS[family][name]()
    recorded = json.dumps(RECORDED[family][name])
    if sys.version_info >= (3, 14):
        for text, now in ONE_UNION.items():
            recorded = recorded.replace(text, now)
    assert json.loads(json.dumps(result)) == json.loads(recorded)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_case_has_its_program(family: str) -> None:
    assert set(RECORDED[family]) == set(PROGRAMS[family])
