"""`TestCase` of tests of a compiler: that of `torch._dynamo`."""

from mindtorch_v2._dynamo.test_case import TestCase, run_tests

__all__ = ["TestCase", "run_tests"]
