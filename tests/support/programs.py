"""Run Python programs that import `torch` in a process of their own, under ours or under PyTorch."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from reference import is_reference


def command(script: Path, *arguments: object) -> list[str]:
    """The command line that runs `script` with ours as `torch`; with PyTorch's under `--reference`."""
    launcher = [sys.executable] if is_reference() else [sys.executable, "-m", "mindtorch_v2"]
    return [*launcher, str(script), *map(str, arguments)]


def environment(threads: int = 2) -> dict[str, str]:
    """This process's environment with a fixed number of threads."""
    return os.environ | {"OMP_NUM_THREADS": str(threads), "PYTHONUNBUFFERED": "1"}


def run(script: Path, *arguments: object, threads: int = 2) -> subprocess.CompletedProcess[str]:
    """Run to the end; the caller looks at returncode, stdout and stderr."""
    return subprocess.run(
        command(script, *arguments),
        env=environment(threads),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def lines_of(program: str) -> list[str]:
    """The lines that the text of a program prints, in which `torch` is this package; it has to end well."""
    said = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-"],
        input=textwrap.dedent(program),
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()
