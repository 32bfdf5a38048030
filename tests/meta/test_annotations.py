"""The share of functions that say their types does not fall, and the core layers have all."""

import configparser
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


def test_the_core_layers_are_checked_strictly():
    """With each flag of --strict that one module can have and the whole project does not."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "mypy.ini")
    layers = next(name for name in settings.sections() if name.startswith("mypy-mindtorch_v2._dispatch.*,"))
    assert {"mindtorch_v2._core.*", "mindtorch_v2._operators.table.*"} <= set(layers.split(","))
    whole = {"check_untyped_defs", "strict_equality", "warn_unused_ignores", "warn_redundant_casts"}
    assert {flag for flag in whole if settings["mypy"].getboolean(flag)} == whole
    assert {flag: settings[layers].getboolean(flag) for flag in settings[layers]} == {
        "disallow_any_generics": True,
        "disallow_subclassing_any": True,
        "disallow_untyped_calls": True,
        "disallow_untyped_defs": True,
        "disallow_incomplete_defs": True,
        "disallow_untyped_decorators": True,
        "warn_return_any": True,
        "implicit_reexport": False,
        "extra_checks": True,
    }
