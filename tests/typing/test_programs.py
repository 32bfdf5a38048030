"""Typed programs that say `import torch`: they run, and type checkers find no more in them than with PyTorch's own types.

`errors.json` has what mypy --strict and pyright find with PyTorch 2.13's: errors by program.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import mindtorch_v2
from mindtorch_v2._as_torch import stubs

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
PYTORCH = json.loads((HERE / "errors.json").read_text())
SOURCE = Path(mindtorch_v2.__file__).parent.parent


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_runs(program):
    # PyTorch deprecates all of TorchScript, whoever uses it.
    strict = ["-W", "error::DeprecationWarning", "-W", "ignore:`torch.jit.trace` is deprecated"]
    command = [sys.executable, *strict, "-m", "mindtorch_v2", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A folder with the programs and, below `typings`, stubs for the name torch."""
    folder = tmp_path_factory.mktemp("project")
    for program in PROGRAMS:
        shutil.copy(program, folder)
    assert stubs.write(folder / "typings").name == "torch"
    return folder


def _errors(text):
    return Counter(
        Path(name).name for name in re.findall(r"^\s*(\S+?\.py):\d+(?::\d+)?:? .*?error", text, re.MULTILINE)
    )


def _more_than_pytorch(checker, found):
    return {name: count for name, count in found.items() if count > PYTORCH[checker].get(name, 0)}


def _mypy(project):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"]
    command += ["--cache-dir", str(project / "cache"), *sorted(path.name for path in project.glob("*.py"))]
    path = os.pathsep.join([str(project / "typings"), str(SOURCE)])
    done = subprocess.run(
        command, cwd=project, env={**os.environ, "MYPYPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_mypy_finds_no_more_than_with_pytorchs_types(project):
    text = _mypy(project)
    assert not _more_than_pytorch("mypy", _errors(text)), text
    wrong = project / "wrong.py"
    wrong.write_text("import torch\n\nx: int = torch.ones(2)\ntorch.nn.Linear('a', 2)\n")
    try:
        assert _errors(_mypy(project))["wrong.py"] == 2  # it does see types
    finally:
        wrong.unlink()


@pytest.mark.skipif(shutil.which("pyright") is None, reason="pyright is not installed")
def test_pyright_finds_no_more_than_with_pytorchs_types(project):
    (project / "pyrightconfig.json").write_text(json.dumps({"pythonVersion": "3.11", "extraPaths": [str(SOURCE)]}))
    done = subprocess.run(
        ["pyright", *(p.name for p in PROGRAMS)], cwd=project, capture_output=True, text=True, check=False
    )
    assert "Found" in done.stdout or "errors" in done.stdout, done.stdout + done.stderr
    assert not _more_than_pytorch("pyright", _errors(done.stdout)), done.stdout
