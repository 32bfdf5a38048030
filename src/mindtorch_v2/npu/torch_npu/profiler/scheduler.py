"""Which steps are recorded."""

from __future__ import annotations

import warnings

from mindtorch_v2.profiler import ProfilerAction
from mindtorch_v2.profiler import schedule as _schedule

__all__ = ["ProfilerAction", "Schedule"]


class Schedule:
    """`torch.profiler.schedule` with torch_npu's order of arguments.

    What is no whole number from 0 on (from 1 on: `active`) is taken as 0 (1), as torch_npu does, and named by a warning.
    """

    def __init__(
        self, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
    ) -> None:
        given = {
            "wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first,
            "skip_first_wait": skip_first_wait,
        }  # fmt: skip
        self.numbers: dict[str, int] = {}
        for name, value in given.items():
            least = int(name == "active")
            self.numbers[name] = value if isinstance(value, int) and value >= least else least
            if self.numbers[name] is not value:
                warnings.warn(f"schedule(): {name} must be a whole number from {least} on, not {value!r}", stacklevel=2)
        self.active = self.numbers["active"]
        self._action = _schedule(**self.numbers)

    def __call__(self, step: int) -> ProfilerAction:
        return self._action(step)
