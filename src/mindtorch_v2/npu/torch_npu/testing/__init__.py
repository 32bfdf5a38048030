"""Test cases as torch_npu's own tests are written with."""

from . import common_distributed, common_utils, decorator, testcase

__all__ = ["common_distributed", "common_utils", "decorator", "testcase"]
