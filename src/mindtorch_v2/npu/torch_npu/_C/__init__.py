"""Names of torch_npu's native part that programs ask for."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.task_groups import TaskGroup as _NPUTaskGroupHandle
from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.distributed._hccl import ProcessGroupHCCL
from mindtorch_v2.npu import _mstx

from .._outputs import with_outputs

__all__ = ["_NPUTaskGroupHandle", "_distributed_c10d", "_mstx"]

npu_fused_infer_attention_score = with_outputs(torch.ops.npu.npu_fused_infer_attention_score)
_distributed_c10d = types.SimpleNamespace(ProcessGroupHCCL=ProcessGroupHCCL)
_OPTIONS = {"ALLOW_INTERNAL_FORMAT": lambda: b"enable" if torch.npu.config.allow_internal_format else b"disable"}


def _npu_getOption(name: str) -> bytes | None:
    """The value of an option as torch_npu keeps it, in bytes; None for one that was not set."""
    return _OPTIONS.get(name, lambda: None)()


def _npu_get_soc_version() -> int:
    """The number of the chip."""
    return torch.npu.get_soc_version()


def _npurt() -> Any:
    """Functions of CANN's runtime."""
    return torch.npu.npurt()


def _npu_getDeviceCount() -> int:
    """The number of devices."""
    return torch.npu.device_count()


def _npu_getCurrentRawStream(device_index: int) -> int:
    """The handle of a device's current stream."""
    return torch.npu.current_stream(device_index).npu_stream


_npu_getCurrentRawStreamNoWait = _npu_getCurrentRawStream  # calls are handed over at once: there is nothing to wait for


def _empty_strided_npu(sizes: Sequence[int], strides: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """`torch.empty_strided` on the current device, as generated programs ask for it."""
    return torch.empty_strided(sizes, strides, dtype=dtype, device="npu")


def _npu_setStream(stream_id: int, device_index: int, device_type: int = 0) -> None:
    """Make a stream the current one, by its `stream_id`. RuntimeError for a number that is none's."""
    torch.npu.set_stream(torch.npu.Stream(stream_id=stream_id, device_index=device_index))


def _weak_ref_tensor(tensor: Any) -> Any:
    """Another tensor over the same memory; it keeps that memory as any tensor does."""
    return tensor.detach()


def _npu_fused_infer_attention_score_out_graph(stream: Any, handle: Any, event: Any, *args: Any, **kwargs: Any) -> Any:
    """Replace a group of tasks by a call of that operator, and raise the event for which the graph waits; its results."""
    torch.npu.graph_task_update_begin(stream, handle)
    try:
        with torch.npu.stream(stream):
            results = npu_fused_infer_attention_score.out(*args, **kwargs)
    finally:
        torch.npu.graph_task_update_end(stream)
    event.record(stream)
    return results


globals().update(
    unavailable_names("torch_npu._C", functions="_npu_releasePool _storage_Use_Count _npu_createPool _npu_shutdown")
)
