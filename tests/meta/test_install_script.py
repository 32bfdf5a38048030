"""`scripts/install_package`: the build of a fresh clone says how far it is, and what failed."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "install_package"
pytestmark = pytest.mark.no_torch


@pytest.fixture
def start(tmp_path):
    """Start the script with a program in place of pip."""
    started = []

    def run(program):
        (tmp_path / "pip").mkdir()
        (tmp_path / "pip" / "__init__.py").touch()
        (tmp_path / "pip" / "__main__.py").write_text(program)
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT)],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # What a shell starts in the background ignores Ctrl-C, and so would all that comes of it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_progress_in_tenths(start):
    said = (
        start("for n in range(1, 41): print(f'[{n}/40] Building CXX object x.o', flush=True)")
        .communicate()[1]
        .splitlines()
    )
    assert said[0] == "preparing the build" and said[-1].startswith("installed after ")
    counted = [line.split(" files,")[0] for line in said[1:-1]]
    assert counted[:2] == ["compiled 4 of 40", "compiled 8 of 40"] and counted[-1] == "compiled 40 of 40"
    assert len(counted) == 10


def test_a_failure_shows_its_last_lines(start):
    process = start("import sys; print('[1/9] Building'); print('CMake Error: no compiler'); sys.exit(3)")
    said = process.communicate()[1]
    assert process.returncode == 3
    assert "CMake Error: no compiler" in said and "the build failed with status 3" in said


def test_ctrl_c_says_what_is_kept(start):
    process = start("import time; print('[1/9] Building', flush=True); time.sleep(60)")
    line = ""
    while "compiled 1 of 9" not in line:
        line = process.stderr.readline()
        assert line
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130 and time.monotonic() - began < 20
    assert "what is compiled so far is kept" in said and "Traceback" not in said
