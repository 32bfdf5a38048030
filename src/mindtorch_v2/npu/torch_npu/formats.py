"""Casts of storage formats, as programs call them: a tensor that is in the format already is itself the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import casts, swapped
from mindtorch_v2._backends.npu.storage_formats import Format
from mindtorch_v2._backends.npu.stream import device_index

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "Format",
    "empty_with_format",
    "empty_with_swapped_memory",
    "get_npu_format",
    "npu_format_cast",
    "npu_format_cast_",
]


def get_npu_format(self: torch.Tensor) -> int:
    """The number of the format that the storage of a tensor is in. In rows: NCHW (0), NCDHW (30) or ND (2), by its rank."""
    return int(casts.format_of(self))


def npu_format_cast(
    self: torch.Tensor, acl_format: Any, *, customize_dtype: Any = None, input_dtype: Any = None
) -> torch.Tensor:
    """A copy of a tensor with the same numbers in another order in the NPU's memory, that of a number or of a tensor.

    The tensor itself if that is its format. The gradient is the identity. RuntimeError for a number that is no format, for what
    the format does not take, for a tensor that is not on an NPU, and for a dtype to change on the way.
    """
    wanted = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else acl_format
    if customize_dtype is None and input_dtype is None and get_npu_format(self) == wanted:
        return self
    return torch.ops.npu.npu_format_cast(self, int(wanted), customize_dtype=customize_dtype, input_dtype=input_dtype)


def npu_format_cast_(
    self: torch.Tensor, acl_format: Any, *, customize_dtype: Any = None, input_dtype: Any = None
) -> torch.Tensor:
    """`npu_format_cast` in place: the storage is laid out anew, and all of its views with it."""
    wanted = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else int(acl_format)
    with torch.no_grad():
        torch.ops.npu.npu_format_cast_(self, wanted, customize_dtype=customize_dtype, input_dtype=input_dtype)
    return self


def empty_with_format(
    size: Any,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: Device = "npu",
    pin_memory: bool | None = None,
    acl_format: Any = 2,
) -> torch.Tensor:
    """An uninitialised tensor in a format."""
    if layout not in (None, torch.strided):
        raise RuntimeError(f"empty_with_format(): layout must be torch.strided, but it is {layout}")
    wanted = casts.checked("empty_with_format", acl_format)
    return casts.empty(
        list(size), wanted, dtype=dtype or torch.get_default_dtype(), device=device, pin_memory=pin_memory
    )


def empty_with_swapped_memory(size: Any, *, dtype: torch.dtype | None = None, device: Device = "npu") -> torch.Tensor:
    """An uninitialised tensor of an NPU whose memory is the host's: slower, and beyond the device's own memory.

    RuntimeError for another device.
    """
    wanted = torch.device("npu" if device is None else device)
    if wanted.type != "npu":
        raise RuntimeError(f"empty_with_swapped_memory(): the device must be an NPU, but it is {wanted}")
    return swapped.empty([int(length) for length in size], dtype or torch.get_default_dtype(), device_index(wanted))
