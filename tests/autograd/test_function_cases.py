"""`torch.autograd.Function`, case by case: what PyTorch 2.13 answered is in `function_cases.json`."""

import json
import re
import warnings
from pathlib import Path

import function_cases
import pytest

RECORDED = {each["case"]: each for each in json.loads(Path(__file__).with_name("function_cases.json").read_text())}

# What differs on purpose: PyTorch leaves the type out of this error; and the context has no names of a graph compiler.
SAYS_MORE = {"mark_dirty non-tensor"}
OTHERS_NAMES = {"_is_pure_view", "_register_hook_dict", "_register_hook"}  # of that compiler, and of hooks on tensors
LISTS_NAMES = "ctx._get_compiled_autograd_symints etc dir"


def _shown(text: str) -> str:
    """Without what differs from run to run: addresses, and where in PyTorch's sources a warning began."""
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    return re.sub(r"\s*\(Triggered internally at .*?\)", "", text)


def _frames_removed(text: str) -> str:
    return re.sub(r"\n  File .*", "", _shown(text), flags=re.S)


@pytest.mark.parametrize("name", RECORDED)
def test_case(name: str) -> None:
    recorded = RECORDED[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function_cases.CASES[name]()
        except Exception as error:  # noqa: BLE001  (any class: it is what is compared)
            kind = type(error)
            spelled = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
            assert "error" in recorded, f"{spelled}: {error}"
            assert spelled.rpartition(".")[2] == recorded["error_type"].rpartition(".")[2], error
            said = _shown(str(error)).rstrip()
            assert (said.startswith if name in SAYS_MORE else said.__eq__)(recorded["error"].rstrip())
        else:
            assert "result" in recorded, f"no error but {result!r}"
            if name == LISTS_NAMES:
                listed = re.findall(r"'(\w+)'", recorded["result"])
                assert {n for n in listed if "compiled_autograd" not in n} - OTHERS_NAMES <= set(result)
                return
            said = _shown(repr(result))
            assert (
                said.startswith(_shown(recorded["result"]))
                if len(recorded["result"]) >= 600
                else said == _shown(recorded["result"])
            )
    said = [f"{each.category.__name__}: {each.message}" for each in caught]
    assert list(map(_frames_removed, said)) == list(map(_frames_removed, recorded.get("warnings", [])))


def test_every_case_has_its_program() -> None:
    assert set(RECORDED) == set(function_cases.CASES)
