"""The doctor: what it finds is true of this machine, and each fault that is planted is found, with a remedy."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import doctor
from mindtorch_v2._core import first_aid

REPOSITORY = Path(__file__).parents[2]
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
    assert "scipy_openblas32" in found["linear algebra", "ok"].text  # not NumPy's
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


def _with_numpy(tmp_path, source):
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(source)
    return _json(PYTHONPATH=os.pathsep.join([str(tmp_path), str(SOURCE.parent)]))["numpy", "problem"]


def test_numpy_that_is_broken_is_a_problem(tmp_path):
    found = _with_numpy(tmp_path, "raise ImportError('no numpy here')")
    assert "no numpy here" in found["text"]
    assert str(tmp_path) in found["text"]
    assert found["remedy"] == "pip install --upgrade 'numpy>=1.24'"


def test_numpy_that_is_too_old_is_a_problem(tmp_path):
    found = _with_numpy(tmp_path, "__version__ = '1.19.5'")
    assert "AttributeError" in found["text"]  # a call was made
    assert "numpy>=1.24" in found["remedy"]


def test_required_versions_are_those_of_the_package():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    asked = dict(re.findall(r"^([a-z0-9-]+)>=([\d.]+)$", "\n".join(project["dependencies"]), re.MULTILINE))
    asked.pop("scipy-openblas32")  # called, among the libraries
    assert doctor.REQUIRED == {name.replace("-", "_"): version for name, version in asked.items()}


def test_what_nobody_foresaw_is_a_finding(monkeypatch):
    def look():
        yield from {}["strange"]

    monkeypatch.setattr(doctor, "_LOOKS", (look,))
    (found,) = doctor.examine()
    assert (found.state, found.text) == ("problem", "KeyError: 'strange'")


def _switches_read():
    """Names that stand as values in the sources: whatever function reads the variable, macros are no values."""
    found = set()
    for folder in ("src", "csrc", "emulator"):
        for path in (REPOSITORY / folder).rglob("*"):
            if path.suffix in (".py", ".cpp", ".h") and path.name != "doctor.py":
                found |= set(re.findall(r"""["'](MINDTORCH_[A-Z_]+)["']""", path.read_text("utf-8")))
    return found


def test_switches_are_those_that_are_read():
    assert {name for name in doctor.SWITCHES if name.startswith("MINDTORCH_")} == _switches_read()


def test_a_variable_that_is_read_is_no_problem():
    found = _json(**dict.fromkeys(_switches_read() - {"MINDTORCH_ISA", "MINDTORCH_NPU_PRECISION"}, ""))
    assert ("switches", "problem") not in found


def test_the_page_says_the_same_of_each_variable():
    page = (REPOSITORY / "docs" / "environment.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE))
    assert not set(doctor.SWITCHES) - set(rows)
    assert {name: rows[name] for name, text in doctor.SWITCHES.items() if not rows[name].startswith(text)} == {}
    assert set(re.findall(r"\bMINDTORCH_[A-Z_]+", page)) <= set(doctor.SWITCHES)


def test_core_that_does_not_load_is_a_problem():
    """The package cannot be imported then; the doctor speaks all the same."""
    done = _run(MINDTORCH_ISA="v7")
    assert done.returncode == 1
    assert not done.stderr
    assert "libmindtorch_cpu_v7.so" in done.stdout
    assert "-> MINDTORCH_ISA=v7 asks for kernels that are not there" in done.stdout
    assert _json(MINDTORCH_ISA="v7")["package", "problem"]["remedy"].endswith("unset it.")


def test_error_of_the_import_has_the_remedy():
    command = [sys.executable, "-c", "import mindtorch_v2"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "MINDTORCH_ISA": "v7"}, check=False
    )
    assert done.stderr.rstrip().endswith("unset it.")
    assert "During handling" not in done.stderr


@pytest.mark.parametrize(
    "text, advice",
    [
        ("/lib/libc.so.6: version `GLIBC_2.34' not found", "install the wheel"),
        ("libdnnl.so.3: cannot open shared object file", "pip install onednn-cpu-gomp"),
        ("cannot import name '_C' from partially initialized module", "was built for another Python"),
        ("no CPU kernel library could be loaded: ...", "are not for this processor"),
        ("undefined symbol: x", "--force-reinstall mindtorch_v2"),
    ],
)
def test_each_error_of_the_core_has_a_remedy(monkeypatch, text, advice):
    monkeypatch.delenv("MINDTORCH_ISA", raising=False)
    assert advice in first_aid.remedy(text)
