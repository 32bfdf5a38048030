"""`torch._prims_common`: kinds of dtypes, of promotion and of memory, by the names that libraries import."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.dimensions import wrap_dim

Tensor = torch.Tensor
TensorLike = torch.Tensor
TensorLikeType = torch.Tensor
Number = bool | int | float | complex
NumberType = bool | int | float | complex
ShapeType = torch.Size | list[int] | tuple[int, ...]
StrideType = list[int] | tuple[int, ...]
DimsType = int | list[int] | tuple[int, ...]

_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}
_COMPLEX = {
    torch.float16: torch.complex32,
    torch.bfloat16: torch.complex64,
    torch.float32: torch.complex64,
    torch.float64: torch.complex128,
}
_LOW_PRECISION = (torch.bfloat16, torch.float16, torch.complex32)
# Of low precision -> the dtype that is computed in.
_COMPUTED_IN = {torch.bfloat16: torch.float32, torch.float16: torch.float32, torch.complex32: torch.complex64}


class ELEMENTWISE_TYPE_PROMOTION_KIND(enum.Enum):  # PyTorch's name
    """The dtype of an element-wise operator's result, and the one that it computes in."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(enum.Enum):  # PyTorch's name
    """The dtype of a reduction's result."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


def is_boolean_dtype(dtype: torch.dtype) -> bool:
    """Whether it is `torch.bool`."""
    return dtype is torch.bool


def is_integer_dtype(dtype: torch.dtype) -> bool:
    """Whether it is one of integers, `torch.bool` not counted."""
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def is_float_dtype(dtype: torch.dtype) -> bool:
    """Whether it is one of real floating-point numbers."""
    return dtype.is_floating_point


def is_complex_dtype(dtype: torch.dtype) -> bool:
    """Whether it is a complex one."""
    return dtype.is_complex


def is_low_precision_dtype(dtype: torch.dtype) -> bool:
    """Whether it has 16 bits a part."""
    return dtype in _LOW_PRECISION


def is_grad_dtype(dtype: torch.dtype) -> bool:
    """Whether tensors of it can have gradients."""
    return dtype.is_floating_point or dtype.is_complex


def corresponding_real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the parts of a complex one."""
    return _REAL[dtype]


def corresponding_complex_dtype(dtype: torch.dtype) -> torch.dtype:
    """The complex dtype with parts of this one."""
    return _COMPLEX[dtype]


def get_computation_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype that operators compute in."""
    return _COMPUTED_IN.get(dtype, dtype)


def dtype_to_type(dtype: torch.dtype) -> type:
    """Python's type for numbers of it: bool, int, float or complex."""
    if dtype.is_complex:
        return complex
    if dtype.is_floating_point:
        return float
    return bool if dtype is torch.bool else int


def type_to_dtype(typ: type) -> torch.dtype:
    """The dtype that a tensor made of such numbers has."""
    found = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
    if typ is complex:
        return corresponding_complex_dtype(torch.get_default_dtype())
    if typ not in found:
        raise ValueError(f"Invalid type {typ}!")
    return found[typ]


def elementwise_dtypes(
    *_args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND
) -> tuple[torch.dtype, torch.dtype]:
    """(the dtype computed in, the dtype of the result) of an element-wise operator of that kind.

    Raises ValueError where no argument is a tensor or a number.
    """
    kind = ELEMENTWISE_TYPE_PROMOTION_KIND
    given = [each for each in _args if isinstance(each, torch.Tensor | bool | int | float | complex)]
    if not given:
        raise ValueError(f"Unexpected types in elementwise_dtypes: {[type(each).__name__ for each in _args]}")
    found = _wider(given)
    if type_promotion_kind is kind.ALWAYS_BOOL:
        return get_computation_dtype(found), torch.bool
    if type_promotion_kind is kind.NO_OPMATH:
        return found, found
    if type_promotion_kind is kind.INT_TO_FLOAT and not is_grad_dtype(found):
        found = torch.get_default_dtype()
    if type_promotion_kind is kind.BOOL_TO_LONG and found is torch.bool:
        return torch.int64, torch.int64
    if type_promotion_kind is kind.COMPLEX_TO_FLOAT and found.is_complex:
        return get_computation_dtype(found), corresponding_real_dtype(found)
    return get_computation_dtype(found), found


def _wider(values: Sequence[Any]) -> torch.dtype:
    """The dtype of all together: tensors with dimensions count before those without, and these before numbers."""
    ranks: list[list[Any]] = [[], [], []]
    for value in values:
        ranks[
            0 if isinstance(value, torch.Tensor) and value.dim() else 1 if isinstance(value, torch.Tensor) else 2
        ].append(value)
    result = None
    for rank in ranks:
        if not rank:
            continue
        dtype = rank[0].dtype if isinstance(rank[0], torch.Tensor) else type_to_dtype(type(rank[0]))
        for value in rank[1:]:
            other = value.dtype if isinstance(value, torch.Tensor) else type_to_dtype(type(value))
            dtype = torch.promote_types(dtype, other)
        if result is None:
            result = dtype
        elif _category(dtype) > _category(result):
            result = dtype if rank is not ranks[2] else torch.promote_types(result, dtype)
    assert result is not None
    return result


def _category(dtype: torch.dtype) -> int:
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype is torch.bool else 1


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor; without `row_major` of one whose last two dimensions are column-major."""
    strides: list[int] = []
    step = 1
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    result = tuple(reversed(strides))
    if not row_major and len(shape) > 1:
        return (*result[:-2], 1, max(shape[-2], 1))
    return result


def make_channels_last_strides_for(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of three to five dimensions whose second one is stored last."""
    order = [1, *range(len(shape) - 1, 1, -1), 0]
    strides = [0] * len(shape)
    step = 1
    for dim in order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def suggest_memory_format(x: torch.Tensor) -> torch.memory_format:
    """The memory format that a result made from a tensor should have."""
    if x.dim() == 4 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last):
        return torch.channels_last
    if x.dim() == 5 and not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last_3d):
        return torch.channels_last_3d
    return torch.contiguous_format


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front; IndexError where there is none."""
    return wrap_dim(idx, rank, wrap_scalar)


def canonicalize_dims(rank: int, indices: int | Sequence[int], wrap_scalar: bool = True) -> int | tuple[int, ...]:
    """Dimensions counted from the front."""
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple(canonicalize_dim(rank, index, wrap_scalar) for index in indices)


def is_same_shape(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are one."""
    return tuple(a) == tuple(b)


def is_cpu_scalar_tensor(a: Any) -> bool:
    """Whether it is a tensor without dimensions on the CPU."""
    return isinstance(a, torch.Tensor) and a.dim() == 0 and a.device.type == "cpu"


def compute_required_storage_length(shape: Sequence[int], strides: Sequence[int], storage_offset: int) -> int:
    """How many elements a storage must have for such a view."""
    if math.prod(shape) == 0:
        return 0
    return 1 + storage_offset + sum((length - 1) * step for length, step in zip(shape, strides))


def check_significant_strides(
    a: torch.Tensor, b: torch.Tensor, *, only_cuda: bool = True, allow_rhs_unbacked: bool = False
) -> tuple[bool, int | None]:
    """Whether the strides of dimensions of more than one element are the same, and the first dimension where not.

    With `only_cuda` those of tensors on other devices are not looked at.
    """
    if (not only_cuda or "cuda" in (a.device.type, b.device.type)) and a.numel() > 0:
        for dim in range(a.dim()):
            if a.shape[dim] > 1 and a.stride(dim) != b.stride(dim):
                return False, dim
    return True, None


def check_all_strides(a: torch.Tensor, b: torch.Tensor, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """Whether all strides are the same, and the first dimension where not; only of CUDA's tensors with `only_cuda`."""
    if (not only_cuda or "cuda" in (a.device.type, b.device.type)) and a.numel() > 0:
        for dim, (one, other) in enumerate(zip(a.stride(), b.stride(), strict=True)):
            if one != other:
                return False, dim
    return True, None


def compare_tensor_meta(
    a: Any,
    b: Any,
    check_sizes: bool = True,
    check_strides: bool = False,
    *,
    allow_rhs_unbacked: bool = False,
    check_conj: bool = True,
) -> None:
    """Check that two tensors have one shape, dtype, device and sign bits, and with `check_strides` one layout of memory.

    AssertionError for another shape, dtype or device; RuntimeError for other strides or bits.
    """
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        raise AssertionError(f"expected tensors, got {type(a).__name__} and {type(b).__name__}")
    if check_sizes and not is_same_shape(a.shape, b.shape):
        raise AssertionError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype != b.dtype:
        raise AssertionError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device and {str(a.device), str(b.device)} != {"cuda", "cuda:0"}:
        raise AssertionError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        same, dim = check_significant_strides(a, b, allow_rhs_unbacked=allow_rhs_unbacked)
        if not same:
            raise RuntimeError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {dim})!")
        if a.storage_offset() != b.storage_offset():
            raise RuntimeError(
                f"Storage offset mismatch! Storage offsets are {a.storage_offset()} and {b.storage_offset()}!"
            )
    if check_conj and a.is_conj() != b.is_conj():
        raise RuntimeError(f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}")
    if a.is_neg() != b.is_neg():
        raise RuntimeError(f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}")
