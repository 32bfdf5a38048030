"""The process that watches the file, and what the others read of it."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import struct
import time
from typing import Any

from ..analysis.prof_common_func._file_manager import FileManager
from ._dynamic_profiler_config_context import ConfigContext
from ._dynamic_profiler_monitor_shm import DynamicProfilerShareMemory
from ._dynamic_profiler_utils import DynamicProfilerUtils

__all__ = ["DynamicProfilerMonitor"]

_Level = DynamicProfilerUtils.LoggerLevelEnum
_PR_SET_NAME = 15


class DynamicProfilerMonitor:
    """Look at the shared memory of a folder; the first process of a machine starts the one that watches the file.

    RuntimeError where no folder was named, or the memory cannot be made.
    """

    def __init__(self) -> None:
        folder = DynamicProfilerUtils.CFG_CONFIG_PATH
        if folder is None:
            raise RuntimeError("DynamicProfilerMonitor(): no folder was named; call dynamic_profile.init(folder)")
        self.config_path = os.path.join(folder, "profiler_config.json")
        self._rank_id = DynamicProfilerUtils.get_rank_id()
        self._shared_loop_flag = multiprocessing.Value("b", True)
        self._step_time = multiprocessing.Value("i", DynamicProfilerUtils.POLL_INTERVAL)
        self._shm_obj: Any = DynamicProfilerShareMemory(folder, self.config_path, self._rank_id)
        self._cur_time = int(time.time())
        self._process: Any = None
        if self._shm_obj.is_create_process:
            # Forked before the program uses a device here, or after: it never calls one.
            context = multiprocessing.get_context("fork")
            arguments = self._shm_obj, self._shared_loop_flag, self._step_time
            self._process = context.Process(target=_watch, args=arguments, daemon=True)
            self._process.start()

    def shm_to_prof_conf_context(self) -> ConfigContext | None:
        """The wishes that the file has of this process, if it was written since the last look; None else."""
        if self._shm_obj is None:
            DynamicProfilerUtils.out_log("There is no shared memory", _Level.ERROR)
            return None
        try:
            (written,) = struct.unpack("<I", self._shm_obj.read_bytes(read_time=True))
            if written <= self._cur_time:
                return None
            self._cur_time = written
            asked = ConfigContext(ConfigContext.bytes_to_profiler_cfg_json(self._shm_obj.read_bytes()))
        except Exception as error:  # noqa: BLE001  (a file that cannot be understood must not end a program)
            DynamicProfilerUtils.out_log(f"What the file says cannot be read: {error}", _Level.ERROR)
            return None
        return asked if asked.valid() else None

    def modify_step_time(self, poll_interval_time: int) -> None:
        """Let the file be looked at once in so many seconds."""
        self._step_time.value = poll_interval_time

    def clean_resource(self) -> None:
        """End the process that watches, and leave the memory."""
        if self._process is not None:
            self._shared_loop_flag.value = False
            self._process.join()
        self._shm_obj.clean_resource()


def _watch(memory: DynamicProfilerShareMemory, goes_on: Any, seconds: Any) -> None:
    """Put the file into the memory whenever it was written anew."""
    ctypes.CDLL(None).prctl(_PR_SET_NAME, b"DynMonitorProc", 0, 0, 0)
    DynamicProfilerUtils.init_logger(is_monitor_process=True, log_path=os.path.dirname(memory.config_path))
    parent, seen, next_look = os.getppid(), memory.cur_mtime, 0.0
    while goes_on.value and os.getppid() == parent:
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + seconds.value
            seen = _look(memory, seen)
        time.sleep(0.1)


def _look(memory: DynamicProfilerShareMemory, seen: int) -> int:
    """Put the file into the memory if it is another one than `seen`; when it was written."""

    def tell(message: str) -> None:
        DynamicProfilerUtils.out_log(message, _Level.ERROR, is_monitor_process=True)

    try:
        written = int(os.path.getmtime(memory.config_path))
    except OSError as error:
        tell(str(error))
        return seen
    if written == seen:
        return seen
    try:
        data = FileManager.read_json_file(memory.config_path) | {"is_valid": True}
    except (RuntimeError, TypeError) as error:
        tell(str(error))
        return seen  # perhaps it is being written
    record = struct.pack("<I", written) + ConfigContext.profiler_cfg_json_to_bytes(data)
    if len(record) > DynamicProfilerUtils.CFG_BUFFER_SIZE - 64:
        tell(f"{memory.config_path} is larger than {DynamicProfilerUtils.CFG_BUFFER_SIZE} bytes")
        return written
    memory.write_bytes_over_py38(record)
    DynamicProfilerUtils.out_log(f"{memory.config_path} was read", is_monitor_process=True)
    return written
