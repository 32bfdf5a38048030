"""The cost of importing the package: which modules it may not bring along."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.no_torch

# Each of these takes a good part of the time in which the whole package is imported.
SLOW = {"asyncio", "ast", "dataclasses", "inspect", "logging", "numpy", "pickle", "pkgutil", "subprocess", "tokenize"}


def test_importing_the_package_brings_no_slow_module():
    code = "import sys; before = set(sys.modules); import mindtorch_v2; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    loaded = set(done.stdout.split())
    assert "mindtorch_v2._operators.load" in loaded
    assert not loaded & SLOW


@pytest.mark.parametrize("part", ["autograd", "fft", "func", "nn", "optim", "export"])
def test_any_part_may_be_asked_for_first(part):
    code = f"import mindtorch_v2; mindtorch_v2.{part}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert not done.returncode, done.stderr
