"""Other orders and forms of the same numbers: transposes, casts, signs as bits, storage formats."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, composite, namespace
from .checks import require

npu = namespace("npu")


@composite(
    "npu::npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) -> Tensor",
    "Permuted, then reshaped, or the other way round; contiguous.",
    samples=[S(T(2, 3, 4), [1, 0, 2], [3, 8], True), S(T(6, 4), [2, 0, 1], [2, 3, 4], False)],
)
def npu_confusion_transpose(self: Any, perm: Any, shape: Any, transpose_first: bool) -> Any:
    moved = self.permute(perm).reshape(shape) if transpose_first else self.reshape(shape).permute(perm)
    return aten.contiguous(moved)


@composite(
    "npu::_npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor",
    "A copy in another dtype.",
    samples=[S(T(2, 3), DTYPES["float64"])],
)
def _npu_dtype_cast(self: Any, dtype: Any) -> Any:
    return self.to(dtype)


@composite(
    "npu::npu_sign_bits_pack(Tensor self, int size) -> Tensor",
    "A bit for each element, 1 where it is not negative, eight to a uint8, the first in the lowest; (size, n / 8 / size).",
    explicit=True,
)
def npu_sign_bits_pack(self: Any, size: int) -> Any:
    operator = "npu_sign_bits_pack"
    require(self.dim() == 1, operator, f"self must have one dimension, but it has {self.dim()}")
    bits = aten.constant_pad_nd((self >= 0).to(DTYPES["int64"]), [0, -self.numel() % 8], 0).reshape(-1, 8)
    require(
        size > 0 and bits.shape[0] % size == 0,
        operator,
        f"size must divide the {bits.shape[0]} bytes, but it is {size}",
    )
    places = aten.arange(8, device=self.device)
    return (bits << places).sum([-1]).to(DTYPES["uint8"]).reshape(size, -1)


@composite(
    "npu::npu_sign_bits_unpack(Tensor input, int size, ScalarType dtype) -> Tensor",
    "1 for each bit that is set, -1 for the others, lowest bit first; (size, 8 n / size).",
    explicit=True,
)
def npu_sign_bits_unpack(input: Any, size: int, dtype: Any) -> Any:
    operator = "npu_sign_bits_unpack"
    require(
        size > 0 and input.numel() * 8 % size == 0,
        operator,
        f"size must divide the {input.numel() * 8} bits, but it is {size}",
    )
    places = aten.arange(8, device=input.device)
    bits = (input.flatten().to(DTYPES["int64"]).unsqueeze(-1) >> places) & 1
    return (bits * 2 - 1).to(dtype).reshape(size, -1)
