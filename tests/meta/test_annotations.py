"""The share of functions that say their types does not fall, and the core layers have all."""

import importlib.util
import json
import pathlib

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _tool():
    spec = importlib.util.spec_from_file_location("count_annotations", ROOT / "tools" / "count_annotations.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = _tool()


def test_the_shares_do_not_fall():
    recorded, now = json.loads(tool.RECORD.read_text()), tool.shares()
    fallen = {key: (now[key], least) for key, least in recorded.items() if now[key] < least}
    assert not fallen, "annotate what you add: percent now, and percent recorded (tools/count_annotations.py --record)"


@pytest.mark.parametrize("folder", ["_core", "_dispatch", "_ops.py", "_tensor.py", "library.py"])
def test_the_core_layers_are_annotated(folder):
    numbers = tool.count()[folder]
    assert numbers["returning"] == numbers["functions"]
    assert numbers["annotated"] == numbers["public"]
