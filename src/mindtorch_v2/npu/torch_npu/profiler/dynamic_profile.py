"""Profiles that a file turns on while a program runs.

The program calls `init(folder)` once and `step()` after each step; whoever writes `folder/profiler_config.json` anew has the next
steps profiled as the file says. The first process of a machine that comes makes the file and watches it
(`_dynamic_profiler`).
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import time
from collections.abc import Callable
from typing import Any

from mindtorch_v2.npu.mstx import mstx

from ..utils._path_manager import PathManager
from ._dynamic_profiler._dynamic_profiler_config_context import ConfigContext
from ._dynamic_profiler._dynamic_profiler_monitor import DynamicProfilerMonitor
from ._dynamic_profiler._dynamic_profiler_utils import DynamicProfilerUtils
from ._profile import profile, tensorboard_trace_handler
from .analysis.prof_common_func._constant import print_error_msg
from .analysis.prof_common_func._file_manager import FileManager
from .scheduler import Schedule

__all__ = ["init", "set_state", "start", "step"]

_Level = DynamicProfilerUtils.LoggerLevelEnum


class _Profiles:
    """The steps of a program, and the profile that a file asked for."""

    RECORD_TIME_STEP = 10  # the step whose length says how often the file is looked at
    _SECONDS = 1, 50  # between two looks, at least and at most

    def __init__(self) -> None:
        self.prof: profile | None = None
        self.cfg_ctx: ConfigContext | None = None  # what the file asks for, until its step has come
        self.cur_step = 0
        self.step_num = 0  # steps that the profile has left
        self.repeat_init = False
        self._dynamic_monitor: Any = None
        self._step_record_time: float | None = None
        self._step_time = 0
        self._step_mstx_range_id = 0

    def init(self) -> None:
        """Begin to watch the file."""
        if self.repeat_init:
            DynamicProfilerUtils.stdout_log("dynamic_profile.init() was called before", _Level.WARNING)
            return
        self._dynamic_monitor = DynamicProfilerMonitor()
        self.repeat_init = True
        atexit.register(self._clean_resource)

    def _clean_resource(self) -> None:
        if self.prof is not None:
            self._stop("the program ended before all its steps were profiled")
        self._dynamic_monitor.clean_resource()

    def _stop(self, why: str) -> None:
        if self.prof is not None:
            self.prof.stop()
            self.prof = None
            DynamicProfilerUtils.out_log(f"The profile ended at step {self.cur_step}: {why}")

    def step(self) -> None:
        """A step has ended."""
        if self._dynamic_monitor is None:
            raise RuntimeError("dynamic_profile.init(folder) must be called first")
        self.cur_step += 1
        self.cfg_ctx = self._dynamic_monitor.shm_to_prof_conf_context() or self.cfg_ctx
        self._measure()
        if self.prof is not None:
            self.prof.step()
            self.step_num -= 1
            if self.step_num == 0:
                self._stop("all its steps are done")
        elif self.cfg_ctx is not None and (self.cfg_ctx.start() or self.cur_step >= self.cfg_ctx.start_step()):
            asked, self.cfg_ctx = self.cfg_ctx, None
            if asked.start() or self.cur_step == asked.start_step():
                self._begin(asked)
            else:
                DynamicProfilerUtils.out_log(
                    f"start_step is {asked.start_step()}, but step {self.cur_step} has come; nothing is profiled",
                    _Level.WARNING,
                )
        if self._step_mstx_range_id:
            mstx.range_end(self._step_mstx_range_id)
        self._step_mstx_range_id = mstx.range_start(f"step {self.cur_step}")

    def _measure(self) -> None:
        """Look at the file about once in a step, once it is known how long one takes."""
        if self.cur_step == self.RECORD_TIME_STEP:
            self._step_record_time = time.time()
        elif self.cur_step == self.RECORD_TIME_STEP + 1 and self._step_record_time is not None:
            least, most = self._SECONDS
            self._step_time = min(most, max(least, int(time.time() - self._step_record_time)))
            self._dynamic_monitor.modify_step_time(self._step_time)

    def start(self, config_path: str | None) -> None:
        """Profile the next steps as a file says."""
        if self.prof is not None:
            DynamicProfilerUtils.stdout_log("dynamic_profile.start(): a profile runs already", _Level.ERROR)
            return
        path = config_path or (self._dynamic_monitor.config_path if self._dynamic_monitor is not None else None)
        if path is None:
            raise RuntimeError("there is no file: give one, or call dynamic_profile.init(folder) first")
        PathManager.check_input_file_path(path)
        self._begin(ConfigContext(FileManager.read_json_file(path)))

    def _begin(self, asked: ConfigContext) -> None:
        self.step_num = asked.active() + asked.warmup()
        self.prof = profile(
            activities=asked.activities(),
            schedule=Schedule(wait=0, warmup=asked.warmup(), active=asked.active(), repeat=1),
            on_trace_ready=tensorboard_trace_handler(asked.prof_path, analyse_flag=asked.analyse()),
            record_shapes=asked.record_shapes,
            profile_memory=asked.profile_memory,
            with_stack=asked.with_stack,
            with_flops=asked.with_flops,
            with_modules=asked.with_modules,
            experimental_config=asked.experimental_config,
        )
        self.prof._set_step_num_offset_for_dynamic_prof(self.cur_step)
        self.prof.start()
        for name, value in asked.meta_data().items():
            self.prof.add_metadata_json(str(name), json.dumps(value))
        DynamicProfilerUtils.out_log(f"A profile of {self.step_num} steps began at step {self.cur_step}")

    def set_state(self, state_step: dict[str, int]) -> None:
        """Count on from a step, of a program that goes on from a checkpoint."""
        step = state_step.get("cur_step", 0) if isinstance(state_step, dict) else None
        if not isinstance(step, int) or step < 0:
            DynamicProfilerUtils.stdout_log(
                f'dynamic_profile.set_state(): expected {{"cur_step": number}}, not {state_step!r}', _Level.ERROR
            )
            return
        self.cur_step = step


_profiles = _Profiles()


def _DynamicProfile() -> _Profiles:
    return _profiles


def _harmless(function: Callable[..., None]) -> Callable[..., None]:
    """Let the program go on where something goes wrong with a profile, with a warning."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except (OSError, RuntimeError, ValueError) as error:
            print_error_msg(f"dynamic_profile.{function.__name__}(): {error}")

    return call


@_harmless
def init(path: str) -> None:
    """Begin to watch `profiler_config.json` in a folder; it is made there, with the defaults, where it is missing."""
    PathManager.check_input_directory_path(path)
    DynamicProfilerUtils.CFG_CONFIG_PATH = os.path.abspath(path)
    DynamicProfilerUtils.init_logger(log_path=os.path.abspath(path))
    _profiles.init()


@_harmless
def step() -> None:
    """Say that a step of the program has ended. Where the file asks for it, the next ones are profiled."""
    _profiles.step()


@_harmless
def start(config_path: str | None = None) -> None:
    """Profile the next steps as a file says, that of `init` without one."""
    _profiles.start(config_path)


@_harmless
def set_state(state_step: dict[str, int]) -> None:
    """Count the steps on from `state_step["cur_step"]`."""
    _profiles.set_state(state_step)
