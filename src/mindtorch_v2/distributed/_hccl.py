"""The back end "hccl": collectives on tensors of NPUs, by Ascend's library.

As everywhere on an NPU, an error of the work itself (a rank that has gone) appears where the program waits for it.
"""

from __future__ import annotations

import math
import os
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import hccl
from mindtorch_v2._backends.npu.casts import in_rows
from mindtorch_v2.distributed._on_devices import DeviceCollectives
from mindtorch_v2.distributed._reduce_op import RedOpType

__all__ = ["ProcessGroupHCCL"]


class ProcessGroupHCCL(DeviceCollectives):
    """A group of processes, each with tensors on an NPU. HCCL_EXEC_TIMEOUT goes before the timeout."""

    name, title, device = "hccl", "ProcessGroupHCCL", "npu"
    types = hccl.TYPES
    ops = {
        RedOpType.SUM: hccl.SUM,
        RedOpType.AVG: hccl.SUM,  # and a division
        RedOpType.PRODUCT: hccl.PROD,
        RedOpType.MAX: hccl.MAX,
        RedOpType.MIN: hccl.MIN,
    }
    wider = {torch.bool: torch.int32, torch.uint8: torch.int32}

    class Options:
        """Options of a group as programs fill them in; the configuration is kept and has no effect."""

        def __init__(self) -> None:
            self.hccl_config: dict = {}
            self.is_high_priority_stream = False
            self.global_ranks_in_group: list = []
            self.group_id = ""

    _loaded: hccl.Library | None = None

    def _library(self) -> hccl.Library:
        if self._loaded is None:
            os.environ.setdefault("HCCL_EXEC_TIMEOUT", str(math.ceil(self.timeout.total_seconds())))
            self._loaded = hccl.Library()
        return self._loaded

    def root(self) -> bytes:
        return self._library().root_info()

    def connect(self, root: bytes, device: int) -> hccl.Communicator:
        return hccl.Communicator(self._library(), self.size, root, self.rank, device)

    def in_rows(self, tensor: Any) -> Any:
        return in_rows(tensor)
