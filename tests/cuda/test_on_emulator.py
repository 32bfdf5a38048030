"""The tests of `on_emulator`, each file in a process whose GPU is the emulated one."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from mindtorch_v2._backends.cuda import libraries

_HERE = pathlib.Path(__file__).parent
_FILES = sorted(path.stem for path in (_HERE / "on_emulator").glob("test_*.py"))


@pytest.mark.skipif(not (libraries.EMULATOR / "libcuda.so.1").exists(), reason="the emulated GPU is not built")
@pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="kernels need a C++ compiler")
@pytest.mark.parametrize("name", _FILES)
def test_on_emulator(name: str) -> None:
    environment = {**os.environ, "MINDTORCH_CUDA_EMULATOR": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(_HERE / "on_emulator" / f"{name}.py")],
        capture_output=True, text=True, timeout=1800, check=False, cwd=_HERE.parents[1], env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
