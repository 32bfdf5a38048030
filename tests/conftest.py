"""Options and fixtures that every test may use; what the tests share besides lies in `tests/support`."""

from collections.abc import Iterator

import pytest
import reference


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--reference`: see tests/support/reference.py; `--live`: see tests/ops/test_derived.py."""
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


def pytest_configure(config: pytest.Config) -> None:
    """Before any test module is imported."""
    if config.getoption("--reference"):
        config.addinivalue_line("norecursedirs", "ops")  # derived from our own rows
        reference.use_as_ours()


@pytest.fixture(autouse=True)
def _same_start(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test begins with the same random state, float32, grad mode on and no autocast, whatever ran before it."""
    if "no_torch" in request.keywords:
        yield
        return
    import mindtorch_v2 as torch  # noqa: PLC0415  (after --reference has decided which one this is)

    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", False)
    yield
