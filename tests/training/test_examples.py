"""The examples run, write their pictures, and learn something in the few steps that a test has for them."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def _run(tmp_path, name, *arguments, emulated=False):
    command = [sys.executable, "-m", "mindtorch_v2", str(EXAMPLES / name), *arguments, "--out", str(tmp_path)]
    if emulated:
        command = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", *command]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (picture,) = tmp_path.glob("*.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    return done.stdout


def test_image_classifier(tmp_path):
    pytest.importorskip("matplotlib")
    text = _run(tmp_path, "image_classifier/train.py", "--steps", "60")
    assert float(re.search(r"([\d.]+)% of 2,000 new pictures", text)[1]) > 25  # one in ten by chance


def test_language_model(tmp_path):
    pytest.importorskip("matplotlib")
    text = _run(tmp_path, "language_model/train.py", "--steps", "30")
    assert float(re.search(r"([\d.]+) nats a letter at the end", text)[1]) < 3.4  # 3.8 by chance
    assert (tmp_path / "model.pt").exists()


def test_ascend_operator(tmp_path):
    pytest.importorskip("matplotlib")
    text = _run(tmp_path, "ascend_operator/run.py", emulated=True)
    assert float(re.search(r"at most (\S+) from the CPU's numbers", text)[1]) < 1e-6
    assert float(re.search(r"loss ([\d.]+)", text)[1]) < 0.01


@pytest.mark.skipif(importlib.util.find_spec("gymnasium") is None, reason="gymnasium is not installed")
def test_gymnasium_agent(tmp_path):
    assert "steps on average" in _run(tmp_path, "gymnasium_agent/train.py", "--episodes", "60")
