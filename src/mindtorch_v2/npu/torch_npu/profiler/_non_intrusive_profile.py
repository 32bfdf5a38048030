"""PROF_CONFIG_PATH: profiles that a file turns on, in a program that knows nothing of them.

A step of the program is one of the optimizer that was made last.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .dynamic_profile import init as dp_init
from .dynamic_profile import step as dp_step

__all__: list[str] = []

_patch_step_function = torch.optim.Optimizer._patch_step_function


class _NonIntrusiveProfile:
    """Count the steps of optimizers."""

    OPTIMIZER_ID = 0  # of the optimizer that was made last

    @staticmethod
    def step_wrapper(func: Callable[..., Any]) -> Callable[..., Any]:
        """An optimizer's `step` that is a step of the program too."""

        @functools.wraps(func)
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            result = func(optimizer, *args, **kwargs)
            if _NonIntrusiveProfile.check_last_optimizer(optimizer):
                dp_step()
            return result

        return step

    @staticmethod
    def check_last_optimizer(optimizer: torch.optim.Optimizer) -> bool:
        """Whether it is the one that was made last."""
        return id(optimizer) == _NonIntrusiveProfile.OPTIMIZER_ID

    @staticmethod
    def patch_step_function(optimizer: torch.optim.Optimizer) -> None:
        """Let the steps of an optimizer be counted."""
        _patch_step_function(optimizer)
        _NonIntrusiveProfile.OPTIMIZER_ID = id(optimizer)
        kind: Any = type(optimizer)
        if not getattr(kind.step, "step_hooked", False):
            kind.step = _NonIntrusiveProfile.step_wrapper(kind.step)
            kind.step.step_hooked = True

    @staticmethod
    def init() -> None:
        """Begin, if the environment says so."""
        path = os.environ.get("PROF_CONFIG_PATH", "")
        if path:
            dp_init(path)
            torch.optim.Optimizer._patch_step_function = _NonIntrusiveProfile.patch_step_function  # type: ignore[method-assign, assignment]  # (as torch_npu does)
