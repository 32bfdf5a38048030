"""stable_checks.cpp, compiled against our headers and, with --live, against PyTorch's too; each runs with both."""

import pathlib
import subprocess
import sys

import pytest

from .processes import environment

FOLDER = pathlib.Path(__file__).parent
OURS, LIVE = "mindtorch_v2", "torch"


def _run(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment(OMP_NUM_THREADS="4"), check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip().splitlines()


@pytest.fixture(scope="session")
def library(request, tmp_path_factory):
    """The library, compiled in a process of its own: of both only one can be used in a process."""
    headers = request.param
    folder = tmp_path_factory.mktemp(f"stable_{headers}")
    program = (
        f"from {headers}.utils import cpp_extension; print(cpp_extension.load('stable_checks', [{str(FOLDER / 'stable_checks.cpp')!r}], "
        f"extra_cflags=['-O0'], build_directory={str(folder)!r}, is_python_module=False))"
    )
    _run("-c", program)
    return folder / "stable_checks.so"


def pytest_generate_tests(metafunc):
    both = [OURS, LIVE] if metafunc.config.getoption("--live") else [OURS]
    if "library" in metafunc.fixturenames:
        metafunc.parametrize("library", both, indirect=True, scope="session")
    if "runtime" in metafunc.fixturenames:
        metafunc.parametrize("runtime", both)


def test_the_library(library, runtime):
    _run(str(FOLDER / "stable_program.py"), runtime, str(library))


def test_it_names_nothing_of_ours(library):
    """So that it runs where there is only PyTorch."""
    from mindtorch_v2._core.stable_libraries import libraries_needed

    assert "libtorch_cpu.so" in libraries_needed(library)
    assert not any("mindtorch" in name for name in libraries_needed(library))


def _older(folder, version):
    source = folder / "older.cpp"
    source.write_text(
        "#include <torch/csrc/stable/library.h>\n#include <torch/csrc/stable/ops.h>\n"
        "torch::stable::Tensor same(const torch::stable::Tensor& x) { return torch::stable::clone(x); }\n"
        'STABLE_TORCH_LIBRARY(older, m) { m.def("same(Tensor x) -> Tensor"); }\n'
        'STABLE_TORCH_LIBRARY_IMPL(older, CPU, m) { m.impl("same", TORCH_BOX(&same)); }\n'
    )
    return f"""
import mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension
cpp_extension.load('older', [{str(source)!r}], extra_cflags=['-O0', '-DTORCH_TARGET_VERSION="({version})"'],
                   build_directory={str(folder)!r}, is_python_module=False)
assert torch.ops.older.same(torch.ones(2)).tolist() == [1, 1]
"""


def test_an_older_version_is_the_target(tmp_path):
    """With TORCH_TARGET_VERSION the headers use no later function."""
    _run("-c", _older(tmp_path, "2ULL << 56 | 10ULL << 48"))
    names = subprocess.run(["nm", "-D", tmp_path / "older.so"], capture_output=True, text=True, check=True).stdout
    assert "torch_library_impl" in names and "torch_exception_get_what" not in names


def test_versions_that_are_too_old(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", _older(tmp_path, "2ULL << 56 | 9ULL << 48")],
        capture_output=True,
        text=True,
        env=environment(OMP_NUM_THREADS="4"),
    )
    assert "libraries for PyTorch before 2.10 cannot be made" in done.stderr
