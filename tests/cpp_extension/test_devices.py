"""devices.cpp: a device of a program's own, in a process of its own; with --live as PyTorch's too. Values are PyTorch 2.13's."""

import pathlib
import subprocess
import sys

import pytest

from .conftest import SANITIZE
from .processes import environment

PROGRAM = pathlib.Path(__file__).parent / "device_program.py"


@pytest.mark.parametrize("which", ["ours", "live"])
def test_the_device_does_what_pytorchs_does(which, tmp_path, request):
    if which == "live" and not request.config.getoption("--live"):
        pytest.skip("--live compares with the real PyTorch")
    start = ["-m", "mindtorch_v2"] if which == "ours" else []
    command = [sys.executable, "-W", "ignore", *start, str(PROGRAM), str(tmp_path), *SANITIZE]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.stdout.splitlines()[-1:] == ["as in PyTorch"], done.stderr[-3000:]
