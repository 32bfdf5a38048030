"""The memory in which one process of a machine puts what the file says, and all read it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import time
from multiprocessing import resource_tracker, shared_memory
from typing import Any

from ..analysis.prof_common_func._file_manager import FileManager
from ._dynamic_profiler_config_context import ConfigContext
from ._dynamic_profiler_utils import DynamicProfilerUtils

__all__ = ["DynamicProfilerShareMemory"]

_STAMP = struct.Struct("<I")  # when the file was written, in seconds since 1970
_MAKER = struct.Struct("<qq")  # the process that made the memory, and when that began
_TRIES = 10


class DynamicProfilerShareMemory:
    """Memory that the processes of one machine share for one folder: a moment, and the file as it was then.

    The process that makes it (`is_create_process`) makes the file too, where that is missing, and is the one that watches it.
    """

    JSON_DATA: dict[str, Any] = {
        "activities": ["CPU", "NPU"],
        "prof_dir": "./",
        "analyse": False,
        "async_mode": False,
        "record_shapes": False,
        "profile_memory": False,
        "with_stack": False,
        "with_flops": False,
        "with_modules": False,
        "active": 1,
        "warmup": 0,
        "start_step": 0,
        "is_rank": False,
        "rank_list": [],
        "experimental_config": {
            "profiler_level": "Level0",
            "aic_metrics": "AiCoreNone",
            "l2_cache": False,
            "op_attr": False,
            "gc_detect_threshold": None,
            "data_simplification": True,
            "record_op_args": False,
            "export_type": ["text"],
            "msprof_tx": False,
            "mstx": False,
            "host_sys": [],
            "mstx_domain_include": [],
            "mstx_domain_exclude": [],
            "sys_io": False,
            "sys_interconnection": False,
        },
    }

    def __init__(self, path: str, config_path: str, rank_id: int) -> None:
        self.config_path = config_path
        self._rank_id = rank_id
        self.shm_path = self.name_of(path)
        self._size = DynamicProfilerUtils.CFG_BUFFER_SIZE
        self.is_create_process = False
        self.shm: Any = None
        self.cur_mtime = 0
        self._clean_shm_for_killed()
        self._create_shm_over_py38()
        if self.is_create_process:
            self._create_prof_cfg()

    @staticmethod
    def name_of(path: str) -> str:
        """The name of the memory of a folder, each user's own."""
        place = hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:16]
        return f"DynamicProfileNpuShm{os.getuid()}_{place}"

    def _get_pid_st_ctime(self, pid: int) -> float | None:
        """When a process began; None where there is none."""
        try:
            descriptor = os.open(f"/proc/{pid}", os.O_RDONLY)
        except Exception as error:  # noqa: BLE001  (whatever it is, the moment is not known)
            DynamicProfilerUtils.out_log(f"When process {pid} began is not known: {error}")
            return None
        try:
            return os.fstat(descriptor).st_ctime
        finally:
            os.close(descriptor)

    def _clean_shm_for_killed(self) -> None:
        """Remove memory that a process left which was killed: its maker, whose number it holds, is gone."""
        try:
            found = self._attach()
        except FileNotFoundError:
            return
        maker, begun = _MAKER.unpack_from(found.buf, 0)
        alive = self._get_pid_st_ctime(maker)
        found.close()
        if alive is None or int(alive) != begun:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join("/dev/shm", self.shm_path))

    def _attach(self) -> Any:
        """The memory that is there. Python's tracker is not told: it would remove it when any process ends that looked at it."""
        register, resource_tracker.register = resource_tracker.register, lambda *_: None
        try:
            return shared_memory.SharedMemory(name=self.shm_path)
        finally:
            resource_tracker.register = register

    def _create_shm_over_py38(self) -> None:
        """Attach to the memory, or make it. RuntimeError where neither succeeds."""
        last: Exception | None = None
        for _ in range(_TRIES):
            try:
                self.shm = self._attach()
                self.is_create_process = False
                return
            except FileNotFoundError as error:
                last = error
            try:
                self.shm = shared_memory.SharedMemory(name=self.shm_path, create=True, size=self._size)
            except OSError as error:  # somebody else was faster
                last = error
                time.sleep(0.01)
                continue
            self.is_create_process = True
            begun = self._get_pid_st_ctime(os.getpid())
            _MAKER.pack_into(self.shm.buf, 0, os.getpid(), int(begun or 0))
            self.write_bytes_over_py38(_STAMP.pack(0) + ConfigContext.profiler_cfg_json_to_bytes(self.JSON_DATA))
            return
        raise RuntimeError(f"Failed to create shared memory {self.shm_path}: {last}")

    def _create_prof_cfg(self) -> None:
        if not os.path.exists(self.config_path):
            FileManager.create_json_file_by_path(self.config_path, self.JSON_DATA, indent=4)
        elif not os.access(self.config_path, os.R_OK):
            DynamicProfilerUtils.stdout_log(
                f"{self.config_path} cannot be read; nothing is profiled until it can",
                DynamicProfilerUtils.LoggerLevelEnum.ERROR,
            )
        self.cur_mtime = int(os.stat(self.config_path).st_mtime)

    def read_bytes(self, read_time: bool = False) -> bytes:
        """The file, or with `read_time` when it was written."""
        start = _MAKER.size
        end = start + _STAMP.size
        return bytes(self.shm.buf[start:end]) if read_time else bytes(self.shm.buf[end : self._size]).rstrip(b"\0 ")

    def write_bytes_over_py38(self, bytes_data: bytes) -> None:
        """Put a moment and the file in the place of what is there."""
        room = self._size - _MAKER.size
        self.shm.buf[_MAKER.size : self._size] = bytes_data.ljust(room, b"\0")

    def clean_resource(self) -> None:
        """Leave the memory; its maker removes it."""
        if self.shm is None:
            return
        if self.is_create_process:
            with contextlib.suppress(FileNotFoundError):  # somebody took it for a killed process' own
                self.shm.unlink()
        self.shm.close()
        self.shm = None
