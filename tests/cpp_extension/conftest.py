"""The extension that the tests of this folder share: compiled once a session."""

import importlib
import pathlib
import types

import pytest

from .stable_library import StableABI

SOURCES = pathlib.Path(__file__).parent


@pytest.fixture(scope="session")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """`torch` and the module that checks.cpp makes; with --live also those of the real PyTorch, from the same file."""
    if request.param == "ours":
        pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11")
    torch = importlib.import_module("torch" if request.param == "live" else "mindtorch_v2")
    cpp_extension = importlib.import_module(f"{torch.__name__}.utils.cpp_extension")
    folder = tmp_path_factory.mktemp(request.param)
    name = f"checks_{request.param}"
    module = cpp_extension.load(name, [str(SOURCES / "checks.cpp")], extra_cflags=["-O0"], build_directory=str(folder))
    return types.SimpleNamespace(torch=torch, module=module, cpp_extension=cpp_extension)


@pytest.fixture(scope="session")
def abi(request: pytest.FixtureRequest) -> StableABI:
    """The C functions of the stable ABI; with --live also those of the real PyTorch."""
    if request.config.getoption("--live"):
        importlib.import_module("torch")  # a real one cannot be loaded after ours are visible
    return StableABI("torch" if request.param == "live" else "mindtorch_v2")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With --live every check runs on both."""
    both = ["ours", "live"] if metafunc.config.getoption("--live") else ["ours"]
    for fixture in {"abi", "built"} & set(metafunc.fixturenames):
        metafunc.parametrize(fixture, both, indirect=True, scope="session")
