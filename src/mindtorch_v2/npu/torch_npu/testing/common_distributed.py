"""Questions of tests of several devices."""

import functools
import unittest

import mindtorch_v2 as torch

__all__ = ["skipIfUnsupportMultiNPU"]


def skipIfUnsupportMultiNPU(npu_number_needed):
    """Decorator that skips a test where there are fewer devices."""

    def decorate(function):
        @functools.wraps(function)
        def checked(*args, **kwargs):
            if torch.npu.device_count() < npu_number_needed:
                raise unittest.SkipTest(f"needs {npu_number_needed} NPUs")
            return function(*args, **kwargs)

        return checked

    return decorate
