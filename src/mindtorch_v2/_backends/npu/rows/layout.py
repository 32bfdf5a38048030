"""Other orders and forms of the same numbers: transposes, casts, signs as bits, storage formats."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .. import casts
from .checks import composite, require, require_absent

npu = namespace("npu")


@composite(
    "npu::npu_confusion_transpose(Tensor input, int[] perm, int[] shape, bool transpose_first) -> Tensor",
    "Permuted, then reshaped, or the other way round; contiguous.",
    samples=[S(T(2, 3, 4), [1, 0, 2], [3, 8], True), S(T(6, 4), [2, 0, 1], [2, 3, 4], False)],
)
def npu_confusion_transpose(input: Any, perm: Any, shape: Any, transpose_first: bool) -> Any:
    moved = input.permute(perm).reshape(shape) if transpose_first else input.reshape(shape).permute(perm)
    return aten.contiguous(moved)


@composite(
    "npu::_npu_dtype_cast(Tensor input, ScalarType dtype) -> Tensor",
    "A copy in another dtype.",
    samples=[S(T(2, 3), DTYPES["float64"])],
)
def _npu_dtype_cast(input: Any, dtype: Any) -> Any:
    return input.to(dtype)


@composite(
    "npu::npu_dtype_cast(Tensor input, ScalarType dtype, int? input_dtype=None) -> Tensor",
    "A copy in another dtype.",
    samples=[S(T(2, 3), DTYPES["float64"])],
)
def npu_dtype_cast(input: Any, dtype: Any, input_dtype: Any = None) -> Any:
    require_absent("npu_dtype_cast", input_dtype=input_dtype)
    return input.to(dtype)


@composite(
    "npu::npu_transpose(Tensor input, int[] perm, bool require_contiguous=True) -> Tensor",
    "Permuted; contiguous where that is asked for.",
    samples=[S(T(2, 3, 4), [2, 0, 1]), S(T(2, 3), [1, 0])],
)
def npu_transpose(input: Any, perm: Any, require_contiguous: bool = True) -> Any:
    moved = input.permute(perm)
    return aten.contiguous(moved) if require_contiguous else aten.clone(moved)


@composite(
    "npu::npu_reshape(Tensor input, int[] shape, bool can_refresh=False) -> Tensor",
    "A copy in other sizes.",
    samples=[S(T(2, 6), [3, 4])],
)
def npu_reshape(input: Any, shape: Any, can_refresh: bool = False) -> Any:
    return aten.contiguous(aten.clone(input)).reshape(shape)


@composite(
    "npu::npu_broadcast(Tensor input, int[] size) -> Tensor",
    "A copy in larger sizes, in which dimensions of 1 are repeated.",
    samples=[S(T(3, 1), [2, 3, 4])],
)
def npu_broadcast(input: Any, size: Any) -> Any:
    return aten.contiguous(aten.expand(input, size))


@composite(
    "npu::npu_stride_copy(Tensor input, int[] shape, int[] stride, Scalar storage_offset) -> Tensor",
    "A copy of the elements that a tensor of these sizes and strides over the same memory has.",
    samples=[S(T(3, 4), [2, 2], [4, 2], 1)],
)
def npu_stride_copy(input: Any, shape: Any, stride: Any, storage_offset: Any) -> Any:
    return aten.contiguous(aten.clone(aten.as_strided(input, shape, stride, int(storage_offset))))


def _no_other_dtype(operator, customize_dtype, input_dtype):
    require_absent(operator, customize_dtype=customize_dtype, input_dtype=input_dtype)


@composite(
    "npu::get_npu_format(Tensor input) -> int",
    "The number of the format that the storage of a tensor is in; of one in rows NCHW (0) or NCDHW (30) by its rank, or ND (2).",
    explicit=True,
    grad=None,
)
def get_npu_format(input: Any) -> int:
    return int(casts.format_of(input))


@composite(
    "npu::npu_format_cast(Tensor input, int acl_format, *, int? customize_dtype=None, int? input_dtype=None) -> Tensor",
    "A copy with the same numbers in another order in memory. Views of it see the numbers as before.",
    explicit=True,
    grad={"input": lambda grad: grad},
)
def npu_format_cast(input: Any, acl_format: int, *, customize_dtype: Any = None, input_dtype: Any = None) -> Any:
    _no_other_dtype("npu_format_cast", customize_dtype, input_dtype)
    return casts.cast(input, casts.checked("npu_format_cast", acl_format))


@composite(
    "npu::npu_format_cast.Tensor(Tensor input, Tensor dst, *, int? customize_dtype=None, int? input_dtype=None) -> Tensor",
    "A copy with the same numbers in the format of another tensor.",
    explicit=True,
    grad={"input": lambda grad: grad},
)
def npu_format_cast_tensor(input: Any, dst: Any, *, customize_dtype: Any = None, input_dtype: Any = None) -> Any:
    _no_other_dtype("npu_format_cast", customize_dtype, input_dtype)
    return casts.cast(input, casts.format_of(dst))


@composite(
    "npu::npu_format_cast_(Tensor(a!) input, Tensor src, *, int? customize_dtype=None, int? input_dtype=None) -> Tensor(a!)",
    "Lays out the storage of a tensor as that of another one is, under all of its views.",
    explicit=True,
)
def npu_format_cast_(input: Any, src: Any, *, customize_dtype: Any = None, input_dtype: Any = None) -> Any:
    _no_other_dtype("npu_format_cast_", customize_dtype, input_dtype)
    return casts.cast_(input, casts.format_of(src))


@composite(
    "npu::npu_format_cast_.acl_format(Tensor(a!) input, int acl_format, *, int? customize_dtype=None, int? input_dtype=None) -> "
    "Tensor(a!)",
    "Lays out the storage of a tensor in a format, under all of its views.",
    explicit=True,
)
def npu_format_cast_acl_format_(
    input: Any, acl_format: int, *, customize_dtype: Any = None, input_dtype: Any = None,
) -> Any:  # fmt: skip
    _no_other_dtype("npu_format_cast_", customize_dtype, input_dtype)
    return casts.cast_(input, casts.checked("npu_format_cast_", acl_format))


@composite(
    "npu::npu_sign_bits_pack(Tensor input, int size) -> Tensor",
    "A bit for each element, 1 where it is not negative, eight to a uint8, the first in the lowest; (size, n / 8 / size).",
    explicit=True,
)
def npu_sign_bits_pack(input: Any, size: int) -> Any:
    operator = "npu_sign_bits_pack"
    require(input.dim() == 1, operator, f"input must have one dimension, but it has {input.dim()}")
    bits = aten.constant_pad_nd((input >= 0).to(DTYPES["int64"]), [0, -input.numel() % 8], 0).reshape(-1, 8)
    require(
        size > 0 and bits.shape[0] % size == 0,
        operator,
        f"size must divide the {bits.shape[0]} bytes, but it is {size}",
    )
    places = aten.arange(8, device=input.device)
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
