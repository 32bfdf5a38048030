"""State that the back end holds for the process: runtime, memory of each device, random generators, copies under way."""

from __future__ import annotations

from typing import Any

from ..common import state as _common
from ..common.allocator_settings import Settings
from ..common.once import once
from ..common.runtime import D2H
from ..common.waits import Waits
from . import copies
from . import runtime as _runtime

waits = Waits("GPU", "torch.cuda.set_sync_debug_mode")
settings = Settings("PYTORCH_CUDA_ALLOC_CONF")
"""The options of the allocators of all devices."""


class State(_common.State):
    """Made when the device is first asked for; its generators once the core knows of the device."""

    def __init__(self) -> None:
        super().__init__(_runtime.get(), settings)

    def before_waiting(self, kind: int) -> None:
        if kind == D2H:
            waits.tell()

    def copy(self, to: Any, source: Any) -> None:
        copies.copy(to, source)

    def fill(self, to: Any, number: Any) -> None:
        copies.fill(to, number)


get, started = once(State)
