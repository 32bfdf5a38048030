"""Storage formats by their numbers. Tensors lie in the plain order of rows here, and operators are told so.

A cast to another format makes a copy that remembers the number: programs that ask for a format find it, and every operator
gives the numbers that it gives for the plain tensor. What the hardware gains by the other order is not gained.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = ["Format", "empty_with_format", "get_npu_format", "npu_format_cast", "npu_format_cast_"]


class Format(enum.IntEnum):
    """The formats and their numbers."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33


def _checked(acl_format):
    try:
        return Format(int(acl_format))
    except ValueError:
        known = ", ".join(f"{int(each)} ({each.name})" for each in Format)
        raise RuntimeError(f"npu_format_cast(): {acl_format} is no format; known are {known}") from None


def get_npu_format(self: torch.Tensor) -> int:
    """The number of the format that a tensor, or what it is a view of, was cast to; ND (2) for any other tensor."""
    if "_npu_format" in self.__dict__ or self._base is None:
        return int(self.__dict__.get("_npu_format", Format.ND))
    return int(self._base.__dict__.get("_npu_format", Format.ND))


def npu_format_cast(
    self: torch.Tensor, acl_format: Any, *, customize_dtype: Any = None, input_dtype: Any = None
) -> torch.Tensor:
    """A copy of a tensor that remembers a format; the tensor itself if that is its format. The gradient is the identity.

    RuntimeError for a number that is no format, or for a dtype to change on the way.
    """
    if customize_dtype is not None or input_dtype is not None:
        raise RuntimeError("npu_format_cast(): customize_dtype and input_dtype are not supported; leave them out")
    wanted = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else _checked(acl_format)
    if get_npu_format(self) == wanted:
        return self
    made = self.clone()
    made._npu_format = wanted  # type: ignore[attr-defined]  # (a mark on the tensor)
    return made


def npu_format_cast_(
    self: torch.Tensor, acl_format: Any, *, customize_dtype: Any = None, input_dtype: Any = None
) -> torch.Tensor:
    """`npu_format_cast` in place: the tensor remembers the format, or that of another tensor."""
    if customize_dtype is not None or input_dtype is not None:
        raise RuntimeError("npu_format_cast_(): customize_dtype and input_dtype are not supported; leave them out")
    wanted = get_npu_format(acl_format) if isinstance(acl_format, torch.Tensor) else _checked(acl_format)
    self._npu_format = wanted  # type: ignore[attr-defined]  # (a mark on the tensor)
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
    """An uninitialised tensor that remembers a format."""
    made = torch.empty(size, dtype=dtype, layout=layout or torch.strided, device=device, pin_memory=bool(pin_memory))
    made._npu_format = _checked(acl_format)  # type: ignore[attr-defined]  # (a mark on the tensor)
    return made
