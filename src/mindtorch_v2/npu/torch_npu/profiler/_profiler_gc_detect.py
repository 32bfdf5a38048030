"""Collections of Python's garbage that took long, as a part of a profile."""

from __future__ import annotations

import gc
import os
import struct
from typing import Any

from ._profiler_path_creator import ProfPathCreator
from ._recording import _get_monotonic, _get_syscnt, _get_syscnt_enable
from .analysis.prof_common_func._constant import Constant, print_error_msg, print_warn_msg
from .analysis.prof_common_func._file_manager import FileManager
from .analysis.prof_common_func._path_manager import ProfilerPathManager

__all__ = ["ProfGCDetector"]


class ProfGCDetector:
    """Take down the collections that take `threshold` milliseconds or more, between `start` and `stop`.

    Attributes:
        time_info: process -> when its collection that runs began.
        save_info: those that are over: process, begin and end.
    """

    SAVE_FILE = "torch.gc_record"
    START_PHASE, STOP_PHASE = "start", "stop"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold * Constant.NS_TO_MS
        self.time_info: dict[int, tuple[int, int]] = {}
        self.save_info: list[tuple[int, int, int]] = []
        self.get_cur_ts = _get_syscnt if _get_syscnt_enable() else _get_monotonic

    def start(self) -> None:
        """Begin."""
        if self.gc_callback not in gc.callbacks:
            gc.callbacks.append(self.gc_callback)

    def stop(self) -> None:
        """End, and write what was found into the folder of the cycle."""
        if self.gc_callback in gc.callbacks:
            gc.callbacks.remove(self.gc_callback)
        self.time_info.clear()
        self.save()
        self.save_info = []

    def save(self) -> None:
        """Write what was found, if anything was; a warning where it cannot be written."""
        folder = ProfPathCreator().get_prof_dir()
        if not self.save_info or not folder:
            return
        data = b"".join(struct.pack(Constant.GC_RECORD_FORMAT, *each) for each in self.save_info)
        path = os.path.join(ProfilerPathManager.get_fwk_path(folder), self.SAVE_FILE)
        try:
            FileManager.create_bin_file_by_path(path, data)
        except Exception as error:  # noqa: BLE001  (a profile without its garbage is a profile still)
            print_error_msg(f"Collections of garbage could not be written to {path}: {error}")

    def gc_callback(self, phase: str, info: Any) -> None:
        """Take note: Python calls this when a collection begins and when it ends."""
        process, now = os.getpid(), _get_monotonic()
        if phase == self.START_PHASE:
            self.time_info[process] = now, self.get_cur_ts()
        elif phase != self.STOP_PHASE:
            print_warn_msg(f"gc_callback(): a collection has no phase {phase!r}")
        elif process in self.time_info:
            began, stamp = self.time_info.pop(process)
            if now - began >= self.threshold:
                self.save_info.append((process, stamp, self.get_cur_ts()))
