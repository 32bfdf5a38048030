"""Questions of tests of several devices."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = ["skipIfUnsupportMultiNPU"]


def skipIfUnsupportMultiNPU(npu_number_needed: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that skips a test where there are fewer devices."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if torch.npu.device_count() < npu_number_needed:
                raise unittest.SkipTest(f"needs {npu_number_needed} NPUs")
            return function(*args, **kwargs)

        return checked

    return decorate
