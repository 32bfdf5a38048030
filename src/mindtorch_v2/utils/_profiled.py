"""Ranges that the package itself marks for profilers: steps of optimizers, batches of loaders."""

from __future__ import annotations

import sys
from typing import Any

_PROFILER = __name__.partition(".")[0] + ".autograd.profiler"


def profiler_that_runs() -> Any:
    """`torch.autograd.profiler` while a profile is on, else None; a program without profiles never loads it."""
    module = sys.modules.get(_PROFILER)
    return module if module is not None and module._recorder.active else None
