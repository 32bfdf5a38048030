"""The line with which errors of torch_npu end: a code that programs and log readers look for."""

from __future__ import annotations

import enum
import os
import sys
import time

import mindtorch_v2 as torch


class ErrCode(enum.Enum):
    """Kinds of errors: the last three digits of a code, and its text."""

    SUCCESS = (0, "success")
    PARAM = (1, "invalid parameter")
    TYPE = (2, "invalid type")
    VALUE = (3, "invalid value")
    PTR = (4, "invalid pointer")
    INTERNAL = (5, "internal error")
    MEMORY = (6, "memory error")
    NOT_SUPPORT = (7, "feature not supported")
    NOT_FOUND = (8, "resource not found")
    UNAVAIL = (9, "resource unavailable")
    SYSCALL = (10, "system call failed")
    TIMEOUT = (11, "timeout error")
    PERMISSION = (12, "permission error")
    ACL = (100, "call acl api failed")
    HCCL = (200, "call hccl api failed")
    GE = (300, "call ge api failed")

    @property
    def code(self) -> int:
        """The number."""
        return self.value[0]

    @property
    def msg(self) -> str:
        """The text."""
        return self.value[1]


def _line(number: int, part: str, error: ErrCode) -> str:
    """The line of a part of torch_npu; none in an interactive session, or with TORCH_NPU_COMPACT_ERROR_OUTPUT=1."""
    if os.environ.get("TORCH_NPU_COMPACT_ERROR_OUTPUT") == "1" or hasattr(sys, "ps1"):
        return ""
    now = time.strftime("%Y-%m-%d-%H:%M:%S")
    dist = sys.modules.get(f"{torch.__name__}.distributed")
    rank = dist.get_rank() if dist is not None and dist.is_available() and dist.is_initialized() else -1
    device = torch.npu.current_device() if torch.npu.is_initialized() else -1
    where = f"PID:{os.getpid()}, Device:{device}, RankID:{rank}"
    return f"\n[ERROR] {now} ({where}) ERR{number:02}{error.code:03} {part} {error.msg}"


def pta_error(error: ErrCode) -> str:
    """The line for an error of the adapter.

    >>> pta_error(ErrCode.TYPE).endswith("ERR00002 PTA invalid type")
    True
    """
    return _line(0, "PTA", error)


def ops_error(error: ErrCode) -> str:
    """The line for an error of an operator."""
    return _line(1, "OPS", error)


def dist_error(error: ErrCode) -> str:
    """The line for an error of communication."""
    return _line(2, "DIST", error)


def graph_error(error: ErrCode) -> str:
    """The line for an error of a graph."""
    return _line(3, "GRAPH", error)


def prof_error(error: ErrCode) -> str:
    """The line for an error of the profiler."""
    return _line(4, "PROF", error)
