"""`TestCase` of tests that compile: what was compiled and counted is forgotten before and after each."""

from __future__ import annotations

import importlib
import unittest
from typing import Any

from mindtorch_v2 import _dynamo

__all__ = ["TestCase", "run_tests"]


def _base() -> Any:
    """PyTorch's own class, which knows how tensors are compared, where its infrastructure of tests can be imported."""
    try:
        return importlib.import_module("torch.testing._internal.common_utils").TestCase
    except ImportError:
        return unittest.TestCase


class TestCase(_base()):  # type: ignore[misc]  # (whichever there is)
    """A test case between two resets of the compiler."""

    def setUp(self) -> None:
        super().setUp()
        _dynamo.reset()
        _dynamo.utils.counters.clear()

    def tearDown(self) -> None:
        super().tearDown()
        _dynamo.reset()
        _dynamo.utils.counters.clear()


def run_tests(needs: Any = ()) -> None:
    """Run the tests of the file that is the program."""
    unittest.main()
