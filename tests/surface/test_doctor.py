"""The doctor: what it finds is true of this machine, and each fault that is planted is found, with a remedy."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import doctor

SOURCE = Path(torch.__file__).parent


def _run(*arguments, **environment):
    command = [sys.executable, "-m", "mindtorch_v2.doctor", *arguments]
    values = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=values, timeout=120, check=False)


def _json(**environment):
    done = _run("--json", **environment)
    read = json.loads(done.stdout)
    assert done.returncode == (1 if read["problems"] else 0)
    return {(each["subject"], each["state"]): each for each in read["findings"]}


def test_findings_are_true():
    found = {(each.subject, each.state): each for each in doctor.examine()}
    assert torch.__version__ in found["package", "ok"].text
    assert "openblas" in found["linear algebra", "ok"].text
    assert not [each for each in found.values() if each.state == "problem"], found
    threads = next(each for (subject, _), each in found.items() if subject == "threads")
    assert threads.text.startswith(f"{torch.get_num_threads()} for an operator")


def test_report_for_people():
    done = _run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("No problems.")
    assert re.search(r"^ok +processor: .*kernels: ", done.stdout, re.MULTILINE)


def test_unknown_switch_is_a_problem():
    found = _json(MINDTORCH_ONEDN="0")
    assert "MINDTORCH_ONEDN is set" in found["switches", "problem"]["text"]
    assert "MINDTORCH_ONEDNN" in found["switches", "problem"]["remedy"]


def test_broken_cann_is_a_problem(tmp_path):
    found = _json(ASCEND_HOME_PATH=str(tmp_path))
    assert str(tmp_path) in found["npu", "problem"]["text"]
    assert "mindtorch_v2.npu doctor" in found["npu", "problem"]["remedy"]


def test_library_that_does_not_load_is_a_problem(monkeypatch):
    def missing(*_):
        raise RuntimeError("the shared library of the package scipy-openblas32 could not be loaded")

    monkeypatch.setattr(torch.linalg, "inv", missing)
    found = {each.subject: each for each in doctor.examine()}
    assert found["linear algebra"].state == "problem"
    assert found["linear algebra"].remedy == "pip install scipy-openblas32"


def test_what_nobody_foresaw_is_a_finding(monkeypatch):
    def look():
        yield from {}["strange"]

    monkeypatch.setattr(doctor, "_LOOKS", (look,))
    (found,) = doctor.examine()
    assert (found.state, found.text) == ("problem", "KeyError: 'strange'")


@pytest.mark.parametrize("name", sorted(doctor.SWITCHES))
def test_listed_switch_is_read_somewhere(name):
    """The list is no longer than what the sources read."""
    files = [path for kind in ("*.py", "*.so") for path in SOURCE.rglob(kind) if path.name != "doctor.py"]
    assert name == "OMP_NUM_THREADS" or any(name.encode() in path.read_bytes() for path in files)


def test_switches_that_are_read_are_listed():
    read = set()
    for path in SOURCE.rglob("*.py"):
        read |= set(re.findall(r"""environ(?:\.get)?[\[(]["'](MINDTORCH_[A-Z_]+)""", path.read_text("utf-8")))
    assert read
    assert not read - set(doctor.SWITCHES)
