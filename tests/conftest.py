"""Options and fixtures that every test may use; what the tests share besides lies in `tests/support`."""

import zlib
from collections.abc import Iterator

import mindspore_stand_in
import pytest
import recording
import reference


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--reference`: see tests/support/reference.py; `--live`, `--record`: see tests/support/recording.py."""
    parser.addoption(
        "--reference",
        action="store_true",
        help="run on PyTorch itself, to check the expectations",
    )
    parser.addoption(
        "--live",
        action="store_true",
        help="ask the installed PyTorch instead of the snapshots",
    )
    parser.addoption(
        "--record",
        action="store_true",
        help="run only tests that ask PyTorch, and write its answers to the snapshots",
    )
    parser.addoption(
        "--share",
        metavar="FOLDER:N",
        help="of the tests below a folder run one in N, chosen by their names: the same ones every time",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported."""
    if config.getoption("--reference"):
        config.addinivalue_line("norecursedirs", "ops")  # derived from our own rows
        reference.use_as_ours()
    recording.configure(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests that record nothing where records are made, and those beyond the share that was asked for."""
    if config.getoption("--share"):
        folder, _, number = config.getoption("--share").partition(":")
        left = [i for i in items if i.nodeid.startswith(f"{folder}/") and zlib.crc32(i.nodeid.encode()) % int(number)]
        config.hook.pytest_deselected(items=left)
        left_out = set(left)
        items[:] = [item for item in items if item not in left_out]
    if config.getoption("--record"):
        items[:] = [item for item in items if isinstance(item, pytest.Function) and recording.asks(item.module)]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the fixtures of any test."""
    recording.begin(item.nodeid)


def pytest_sessionfinish() -> None:
    """After the last test."""
    recording.write()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where MindSpore's place was taken: what passed there shows nothing about MindSpore."""
    if mindspore_stand_in.real():
        return
    passed = [r for r in terminalreporter.stats.get("passed", []) if r.nodeid.startswith("tests/interop/")]
    if passed:
        terminalreporter.write_line(
            f"tests/interop: {len(passed)} tests passed on a stand-in for MindSpore; `make test-mindspore` runs them on MindSpore"
        )


@pytest.fixture(autouse=True)
def _same_start(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test begins with the same random state, float32, grad mode on, no autocast and no libraries loaded, whatever ran before it."""
    if "no_torch" in request.keywords:
        yield
        return
    import mindtorch_v2 as torch  # after --reference has decided which one this is

    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", False)
    torch.ops.loaded_libraries.clear()
    yield
