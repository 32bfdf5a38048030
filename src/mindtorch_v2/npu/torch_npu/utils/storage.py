"""Tensors of files that torch_npu wrote for PyTorch 1.11: their memory is the host's, and they name a storage format."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..formats import npu_format_cast

__all__: list[str] = []


def _rebuild_npu_tensor(
    storage: Any,
    storage_offset: int,
    size: Any,
    stride: Any,
    requires_grad: bool,
    backward_hooks: Any,
    npu_storage_info: Any,
) -> torch.Tensor:
    """The tensor on an NPU, in the format of the number, or in rows for a bool."""
    tensor = torch._utils._rebuild_tensor(storage, storage_offset, size, stride).npu()
    if not isinstance(npu_storage_info, bool):
        tensor = npu_format_cast(tensor, npu_storage_info)
    tensor.requires_grad = requires_grad
    tensor._backward_hooks = backward_hooks or None  # type: ignore[attr-defined]  # (as every file of PyTorch has them)
    return tensor


torch.serialization.add_safe_globals([(_rebuild_npu_tensor, "torch_npu.utils.storage._rebuild_npu_tensor")])
