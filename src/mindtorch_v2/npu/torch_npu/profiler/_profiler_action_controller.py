"""Steps of a profile: recordings begin and end between them, as the schedule says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .analysis.prof_common_func._constant import print_warn_msg
from .scheduler import ProfilerAction

__all__ = ["ProfActionController"]

_RECORDING = ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE


class ProfActionController:
    """Begin, end and hand out recordings: `prof` is what `on_trace_ready` is called with, `prof_inst` what records."""

    def __init__(self, prof: Any, prof_inst: Any, on_trace_ready: Callable[..., Any] | None = None) -> None:
        self.prof = prof
        self.prof_inst = prof_inst
        self.on_trace_ready = on_trace_ready

    def transit_action(self, prev_action: ProfilerAction | None, current_action: ProfilerAction | None) -> None:
        """From a step's action to the next one's; None for the next: the profile ends."""
        if prev_action is None:
            return
        if current_action is None:
            self._end(prev_action)
        elif prev_action is ProfilerAction.NONE:
            self._begin(current_action)
        elif prev_action is ProfilerAction.WARMUP:
            self._after_warmup(current_action)
        elif prev_action is ProfilerAction.RECORD_AND_SAVE:
            self._finish(ready=True)
            self._begin(current_action)
        elif current_action not in _RECORDING:
            print_warn_msg(f"Incorrect schedule: RECORD followed by {current_action.name}")
            self._finish(ready=False)

    def _begin(self, action: ProfilerAction) -> None:
        if action is ProfilerAction.WARMUP:
            self.prof_inst.init_trace()
            self.prof_inst.warmup_trace()
        elif action in _RECORDING:
            self.prof_inst.init_trace()
            self.prof_inst.start_trace()

    def _after_warmup(self, action: ProfilerAction) -> None:
        if action in _RECORDING:
            self.prof_inst.start_trace()
        elif action is ProfilerAction.NONE:
            print_warn_msg("Incorrect schedule: WARMUP followed by NONE")
            self.prof_inst.start_trace()
            self._finish(ready=False)

    def _finish(self, ready: bool) -> None:
        self.prof_inst.stop_trace()
        self.prof_inst.finalize_trace()
        if ready and self.on_trace_ready is not None:
            self.on_trace_ready(self.prof)

    def _end(self, action: ProfilerAction) -> None:
        if action in _RECORDING:
            self._finish(ready=True)
        elif action is ProfilerAction.WARMUP:
            print_warn_msg("Incorrect schedule: the profile ends while it warms up, and has nothing")
            self.prof_inst.finalize_trace()
            self.prof_inst.delete_prof_dir()
