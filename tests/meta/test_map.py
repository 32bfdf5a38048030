"""The map of the house is what the code says."""

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
