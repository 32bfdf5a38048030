"""No public name of PyTorch's is lost: those that are missing here are listed, and the list only shrinks."""

import importlib.util
import json
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
NAMES = ROOT / "tests" / "snapshots" / "names"


def _lists():
    spec = importlib.util.spec_from_file_location("make_name_lists", ROOT / "tools" / "make_name_lists.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    listed = json.loads((NAMES / "pytorch.json").read_text())
    return tool.missing_names(listed, "mindtorch_v2"), json.loads((NAMES / "missing.json").read_text())


@pytest.fixture(scope="module")
def lists():
    """The names that are missing now, and those recorded as missing, as sets of "module.name"."""
    return tuple({f"{module}.{name}" for module, names in each.items() for name in names} for each in _lists())


def test_no_name_is_lost(lists):
    now, recorded = lists
    lost = sorted(name for name in now - recorded if f"{name.rpartition('.')[0]}.*" not in recorded)
    assert not lost


def test_names_that_came_are_taken_off_the_list(lists):
    now, recorded = lists
    assert not recorded - now, "take them off the list: python tools/make_name_lists.py missing"
