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


pytestmark = [
    pytest.mark.skipif(not (libraries.EMULATOR / "libcuda.so.1").exists(), reason="the emulated GPU is not built"),
    pytest.mark.skipif(shutil.which(os.environ.get("CXX", "g++")) is None, reason="kernels need a C++ compiler"),
]


def _run(name: str, *options: str, **environment: str) -> None:
    set_ = {**os.environ, "MINDTORCH_CUDA_EMULATOR": "1", "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(_HERE / "on_emulator" / f"{name}.py"), *options],
        capture_output=True, text=True, timeout=1800, check=False, cwd=_HERE.parents[1], env=set_,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.parametrize("name", _FILES)
def test_on_emulator(name: str) -> None:
    _run(name)


def test_attention_while_warps_drift() -> None:
    """A barrier that is missing shows where a warp is ahead of the others, as the hostile order lets it be."""
    _run("test_attention", "-k", "150 or 140", MINDTORCH_CUDA_HOSTILE="5")
