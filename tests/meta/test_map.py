"""The map of the house is what the code says."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_committed_map_is_what_the_tool_draws():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "draw_map.py", "--check"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout


def test_every_part_is_drawn(monkeypatch):
    """Each package and module right in a folder of parts has a box, and a place in the order from left to right."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    spec = importlib.util.spec_from_file_location("draw_map", ROOT / "tools" / "draw_map.py")
    draw_map = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "draw_map", draw_map)
    spec.loader.exec_module(draw_map)
    boxes = draw_map.boxes()
    assert not boxes.keys() & set(draw_map.FOLDERS)
    placed = {name for row in draw_map.PARTS for name in row}
    assert boxes.keys() == placed | {draw_map.LOWEST, *draw_map.GROUPS.values()}
    package = ROOT / "src" / "mindtorch_v2"
    for folder in draw_map.FOLDERS:
        inner = {
            path.stem
            for path in (package / folder).iterdir()
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        assert {f"{folder}.{name}" for name in inner - {"__init__"}} <= placed
