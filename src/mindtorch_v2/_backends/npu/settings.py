"""Switches of the device that programs turn: how float32 products may be rounded, and which storage formats are allowed."""

from __future__ import annotations

from ..common.waits import Waits


class Precision:
    """Whether a kind of product of float32 numbers may be computed in HF32, a shorter format."""

    def __init__(self, allow_hf32: bool) -> None:
        self._allow_hf32 = allow_hf32

    @property
    def allow_hf32(self) -> bool:
        """True, as it is at first for convolutions and not for products of matrices, lets the hardware take HF32 where it has nothing better (cubeMathType 1)."""
        return self._allow_hf32

    @allow_hf32.setter
    def allow_hf32(self, allow: bool) -> None:
        if not isinstance(allow, bool):
            raise TypeError(f"allow_hf32 must be a bool, not {type(allow).__name__}")
        self._allow_hf32 = allow

    def cube_math_type(self) -> int:
        """The number that ACLNN's operators take: 0 keeps the dtype, 1 allows a shorter format for float32."""
        return int(self._allow_hf32)


class Config:
    """`torch.npu.config`."""

    def __init__(self) -> None:
        self._allow_internal_format = False

    @property
    def allow_internal_format(self) -> bool:
        """Whether tensors may be kept in formats of the hardware's own, such as FRACTAL_NZ."""
        return self._allow_internal_format

    @allow_internal_format.setter
    def allow_internal_format(self, allow: bool) -> None:
        self._allow_internal_format = bool(allow)


matmul = Precision(False)
conv = Precision(True)
waits = Waits("NPU", "torch.npu.set_sync_debug_mode")
config = Config()
