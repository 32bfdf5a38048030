"""Logs and the rank of a process, for profiles that a file turns on."""

from __future__ import annotations

import enum
import logging
import os
import socket
from collections.abc import Callable
from logging.handlers import RotatingFileHandler

import mindtorch_v2 as torch

from ...utils._path_manager import PathManager
from ..analysis.prof_common_func._constant import print_error_msg, print_info_msg, print_warn_msg

__all__ = ["DynamicProfilerUtils"]


class DynamicProfilerUtils:
    """Facts that the parts share: where the file is, and how they tell what they do."""

    class DynamicProfilerConfigModel(enum.Enum):
        """Who asks for profiles: a file, or the daemon of msmonitor, which is not there."""

        CFG_CONFIG = 0
        DYNO_CONFIG = 1

    class LoggerLevelEnum(enum.Enum):
        """How bad it is."""

        INFO = logging.INFO
        WARNING = logging.WARNING
        ERROR = logging.ERROR

    DYNAMIC_PROFILER_MODEL = DynamicProfilerConfigModel.CFG_CONFIG
    CFG_CONFIG_PATH: str | None = None
    CFG_BUFFER_SIZE = 1 << 20  # bytes of a file
    POLL_INTERVAL = 2  # seconds between two looks at it
    LOGGER, LOGGER_MONITOR = (logging.getLogger(name) for name in ("DynamicProfiler", "DynamicProfilerMonitor"))

    @classmethod
    def init_logger(cls, is_monitor_process: bool = False, log_path: str = ".") -> None:
        """Let this process write its log into the folder `log` of a path."""
        folder = os.path.join(log_path, "log")
        PathManager.make_dir_safety(folder)
        kind = "monitor_dp" if is_monitor_process else "dp"
        path = os.path.join(folder, f"{kind}_{socket.gethostname()}_{os.getpid()}_rank_{cls.get_rank_id()}.log")
        logger = cls.LOGGER_MONITOR if is_monitor_process else cls.LOGGER
        if any(getattr(each, "baseFilename", "") == os.path.abspath(path) for each in logger.handlers):
            return
        PathManager.create_file_safety(path)
        handler = RotatingFileHandler(path, maxBytes=200 << 10, backupCount=1)
        handler.setFormatter(logging.Formatter("%(asctime)s [%(levelname)s] [%(process)d] %(filename)s: %(message)s"))
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)

    @classmethod
    def is_dyno_model(cls) -> bool:
        """Whether the daemon asks for profiles."""
        return cls.DYNAMIC_PROFILER_MODEL is cls.DynamicProfilerConfigModel.DYNO_CONFIG

    @classmethod
    def out_log(
        cls, message: str, level: LoggerLevelEnum = LoggerLevelEnum.INFO, is_monitor_process: bool = False
    ) -> None:
        """Tell it in the log, or, where there is no file to be beside, to the user."""
        if cls.is_dyno_model():
            cls.stdout_log(message, level)
        else:
            (cls.LOGGER_MONITOR if is_monitor_process else cls.LOGGER).log(level.value, message)

    @classmethod
    def stdout_log(cls, message: str, level: LoggerLevelEnum = LoggerLevelEnum.INFO) -> None:
        """Tell it to the user."""
        tell: dict[DynamicProfilerUtils.LoggerLevelEnum, Callable[[str], None]] = {
            cls.LoggerLevelEnum.INFO: print_info_msg,
            cls.LoggerLevelEnum.WARNING: print_warn_msg,
        }
        tell.get(level, print_error_msg)(message)

    @staticmethod
    def get_rank_id() -> int:
        """The rank of this process among those of the program; -1 where it has none."""
        text = os.environ.get("RANK", "")
        if text.isdigit():
            return int(text)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank()
        return -1
