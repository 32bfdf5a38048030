"""Test cases as torch_npu's own tests are written with."""

from . import common_utils, testcase

__all__ = ["common_utils", "testcase"]
