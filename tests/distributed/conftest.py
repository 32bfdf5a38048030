"""Fixtures that the distributed tests share."""

import json
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import ranks  # noqa: E402  (its folder is on the path from here on)


@pytest.fixture
def expected(request: pytest.FixtureRequest):
    """The answers of PyTorch's Gloo for a run: recorded, or with --live from the installed one."""

    def find(name: str, key: str):
        if request.config.getoption("--live"):
            return ranks.results(*key.split("|"), launcher=ranks.PYTORCH)
        return json.loads((ranks.SNAPSHOTS / f"{name}.json").read_text())[key]

    return find
