"""The words of the profiler's options and folders, and its messages, which are warnings."""

from __future__ import annotations

import warnings

__all__ = ["Constant", "print_error_msg", "print_info_msg", "print_warn_msg"]


class Constant:
    """Words that options and files are written with."""

    LEVEL0, LEVEL1, LEVEL2, LEVEL_NONE = "Level0", "Level1", "Level2", "Level_none"
    AicPipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    AicArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    AicMemory = "ACL_AICORE_MEMORY_BANDWIDTH"
    AicMemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    AicMemoryUB = "ACL_AICORE_MEMORY_UB"
    AicResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    AicL2Cache = "ACL_AICORE_L2_CACHE"
    AicMemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AicMetricsNone = "ACL_AICORE_NONE"
    Db, Text = "db", "text"
    CPU, MEM, DISK, NETWORK, OSRT, NUMA = "cpu", "mem", "disk", "network", "osrt", "numa"

    METRIC_CPU_TIME, METRIC_NPU_TIME = "self_cpu_time_total", "self_npu_time_total"

    FRAMEWORK_DIR = "FRAMEWORK"  # the host's record, in the folder of a cycle
    OUTPUT_DIR = "ASCEND_PROFILER_OUTPUT"  # what is made of the record
    ASCEND_WORK_PATH = "ASCEND_WORK_PATH"  # the variable that names the folder of folders
    PROFILING_WORK_PATH = "profiling_data"  # the folder of cycles in it
    PROFILER_META_DATA = "profiler_metadata.json"
    MAX_WORKER_NAME_LENGTH = 226

    NS_TO_MS = 1_000_000  # nanoseconds of a millisecond
    GC_RECORD_FORMAT = "<3Q"  # process, begin and end of a collection of garbage in nanoseconds


def print_info_msg(message: str) -> None:
    """Say what goes on."""
    print(f"torch_npu.profiler: {message}")


def print_warn_msg(message: str) -> None:
    """Warn of what is done otherwise than it was asked for."""
    warnings.warn(message, stacklevel=3)


def print_error_msg(message: str) -> None:
    """Warn of what could not be done; the program goes on without it."""
    warnings.warn(message, stacklevel=3)
