"""`TestCase` of tests that compile: what was compiled and counted is forgotten before and after each."""

from __future__ import annotations

import unittest
from typing import Any

from mindtorch_v2 import _dynamo

__all__ = ["TestCase", "run_tests"]


class TestCase(unittest.TestCase):
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
