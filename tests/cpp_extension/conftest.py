"""The extension that the tests of this folder share: compiled once a session."""

import importlib
import os
import pathlib
import types
from collections.abc import Generator

import pytest

from .processes import PRELOADED
from .stable_library import StableABI

# The fixtures below: with --live each is there twice.
SHARED = {
    "abi",
    "bases",
    "behaviours",
    "built",
    "corners",
    "data",
    "generators",
    "iterators",
    "jit",
    "layers",
    "modules",
    "objects",
    "parts",
    "programs",
    "training",
}
SOURCES = pathlib.Path(__file__).parent
# Under scripts/sanitize extensions are checked too.
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize=vptr"] * bool(PRELOADED)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Leave compilers alone while a test of this folder runs: what this process needs of the sanitizers is loaded."""
    kept = os.environ.pop("LD_PRELOAD", None) if PRELOADED and SOURCES in item.path.parents else None
    try:
        return (yield)
    finally:
        if kept is not None:
            os.environ["LD_PRELOAD"] = kept


def build(which: str, source: str, folders: pytest.TempPathFactory) -> types.SimpleNamespace:
    """`torch` and the module that a source file makes, "ours" or with --live those of the real PyTorch."""
    if which == "ours":
        pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11")
    torch = importlib.import_module("torch" if which == "live" else "mindtorch_v2")
    cpp_extension = importlib.import_module(f"{torch.__name__}.utils.cpp_extension")
    folder = folders.mktemp(f"{source}_{which}")
    path = str(SOURCES / f"{source}.cpp")
    module = cpp_extension.load(
        f"{source}_{which}", [path], ["-O0", *SANITIZE], extra_ldflags=SANITIZE, build_directory=str(folder)
    )
    return types.SimpleNamespace(torch=torch, module=module, cpp_extension=cpp_extension)


@pytest.fixture(scope="session")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of checks.cpp."""
    return build(request.param, "checks", tmp_path_factory)


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of programs.cpp."""
    return build(request.param, "programs", tmp_path_factory)


@pytest.fixture(scope="session")
def behaviours(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of behaviours.cpp."""
    return build(request.param, "behaviours", tmp_path_factory)


@pytest.fixture(scope="session")
def iterators(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of iterators.cpp."""
    return build(request.param, "iterators", tmp_path_factory)


@pytest.fixture(scope="session")
def jit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of jit.cpp."""
    return build(request.param, "jit", tmp_path_factory)


@pytest.fixture(scope="session")
def modules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of modules.cpp."""
    return build(request.param, "modules", tmp_path_factory)


@pytest.fixture(scope="session")
def layers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of layers.cpp."""
    return build(request.param, "layers", tmp_path_factory)


@pytest.fixture(scope="session")
def corners(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of corners.cpp."""
    return build(request.param, "corners", tmp_path_factory)


@pytest.fixture(scope="session")
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of training.cpp."""
    return build(request.param, "training", tmp_path_factory)


@pytest.fixture(scope="session")
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of data.cpp."""
    return build(request.param, "data", tmp_path_factory)


@pytest.fixture(scope="session")
def generators(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of generators.cpp."""
    return build(request.param, "generators", tmp_path_factory)


@pytest.fixture(scope="session")
def parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of parts.cpp."""
    return build(request.param, "parts", tmp_path_factory)


@pytest.fixture(scope="session")
def bases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of bases.cpp."""
    return build(request.param, "bases", tmp_path_factory)


@pytest.fixture(scope="session")
def objects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    """Those of objects.cpp."""
    return build(request.param, "objects", tmp_path_factory)


@pytest.fixture(scope="session")
def abi(request: pytest.FixtureRequest) -> StableABI:
    """The C functions of the stable ABI; with --live also those of the real PyTorch."""
    return StableABI("torch" if request.param == "live" else "mindtorch_v2")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With --live every check runs on both."""
    both = ["ours"]
    if metafunc.config.getoption("--live"):
        both.append("live")
        importlib.import_module("torch")  # a real one cannot be loaded after our libraries of its names are visible
    for fixture in SHARED & set(metafunc.fixturenames):
        metafunc.parametrize(fixture, both, indirect=True, scope="session")
