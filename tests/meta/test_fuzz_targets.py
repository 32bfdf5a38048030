"""The fuzzers' corpora: each target runs over the inputs that are committed, and over its own seeds; what a search once found stays
mended. The search itself is `make fuzz-TARGET`."""

import importlib
import pkgutil
import time
from pathlib import Path

import pytest

from fuzz import __main__ as runner
from fuzz import targets

CORPUS = Path(runner.ROOT, "fuzz", "corpus")
SECONDS = 10  # for one input, on a loaded machine


def test_every_target_is_known():
    assert tuple(sorted(module.name for module in pkgutil.iter_modules(targets.__path__))) == targets.PYTHON_TARGETS
    known = {*targets.PYTHON_TARGETS, *runner.NATIVE_TARGETS}
    assert {path.name for path in CORPUS.iterdir()} <= known
    makefile = Path(runner.ROOT, "Makefile").read_text()
    assert "fuzz-%:" in makefile
    oss_fuzz = Path(runner.ROOT, "fuzz", "oss-fuzz", "build.sh").read_text()
    assert "targets/fuzz_*" in oss_fuzz and "fuzz/targets/*.py" in oss_fuzz


@pytest.mark.parametrize("name", [name for name in targets.PYTHON_TARGETS if name != "safetensors_file"])
def test_corpus(name):
    target = importlib.import_module(f"fuzz.targets.{name}")
    inputs = list(target.seeds()) + [path.read_bytes() for path in sorted(CORPUS.joinpath(name).glob("*"))]
    assert len(inputs) >= 2
    for data in inputs:
        started = time.monotonic()
        target.one(data)
        assert time.monotonic() - started < SECONDS
