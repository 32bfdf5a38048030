"""Checks of collectives before they begin, with PyTorch's exceptions and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed._reduce_op import RedOpType

_REDUCIBLE = frozenset(
    {
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.uint8,
        torch.bool,
        torch.int32,
        torch.int64,
    }
)
_BITWISE = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)


def size_text(shape: Sequence[int]) -> str:
    """A size as in PyTorch's messages: (2, 3)."""
    return f"({', '.join(map(str, shape))})"


def check_tensor(value: Any, name: str) -> None:
    """TypeError unless `value` is a tensor."""
    if not isinstance(value, torch.Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )


def check_tensor_list(value: Any, name: str) -> None:
    """TypeError unless `value` is a list of tensors."""
    expected = f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
    if not isinstance(value, list):
        raise TypeError(f"{expected}             but got {type(value)} instead.")
    if not all(isinstance(each, torch.Tensor) for each in value):
        kinds = [type(each) for each in value]
        raise TypeError(f"{expected}             but got {type(value)} with elements of type {kinds}.")


def check_same_dtype(*groups: Any) -> None:
    """ValueError unless all tensors (or lists of them) have one dtype."""
    dtype = None
    for tensor in (each for group in groups for each in (group if isinstance(group, list) else [group])):
        if dtype is None:
            dtype = tensor.dtype
        elif tensor.dtype != dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {dtype} and  {tensor.dtype}")


def check_root(function: str, rank: int, size: int, role: str = "root") -> None:
    """RuntimeError unless `rank` is one of the group."""
    if not 0 <= rank < size:
        raise RuntimeError(f"{function}: invalid {role} rank: {rank}")


def check_device(function: str, tensor: torch.Tensor, others: Sequence[torch.Tensor]) -> None:
    """RuntimeError unless all `others` are where `tensor` is: a back end is handed the memory of one kind of device."""
    for index, other in enumerate(others):
        if other.device != tensor.device:
            raise RuntimeError(
                f"{function}: invalid device at index {index} (expected {tensor.device}, got {other.device})"
            )


def check_like(function: str, tensor: torch.Tensor, others: Sequence[torch.Tensor]) -> None:
    """RuntimeError unless all `others` have the device, the dtype and the size of `tensor`."""
    check_device(function, tensor, others)
    for index, other in enumerate(others):
        if other.dtype != tensor.dtype:
            raise RuntimeError(
                f"{function}: invalid tensor type at index {index} (expected {tensor.dtype}, got {other.dtype})"
            )
        if other.shape != tensor.shape:
            raise RuntimeError(
                f"{function}: invalid tensor size at index {index} "
                f"(expected {size_text(tensor.shape)}, got {size_text(other.shape)})"
            )


def check_one_for_each(function: str, role: str, tensors: Any, size: int) -> None:
    """RuntimeError unless a list ("input" or "output" of gather and scatter) has a tensor for each rank."""
    if len(tensors) != size:
        raise RuntimeError(
            f"{function}: Incorrect {role} list size {len(tensors)}. "
            f"{role.capitalize()} list size should be {size}, same as size of the process group."
        )


def check_gathered(function: str, outputs: Sequence[torch.Tensor], tensor: torch.Tensor, size: int) -> None:
    """RuntimeError unless `outputs` has a tensor like `tensor` for each rank."""
    if len(outputs) != size:
        raise RuntimeError(
            f"{function}: invalid output tensor list at index 0 (expected length {size}, got {len(outputs)})"
        )
    check_like(function, tensor, outputs)


def check_parts_of_ranks(
    function: str, outputs: Sequence[Sequence[torch.Tensor]], inputs: Sequence[torch.Tensor], size: int
) -> None:
    """RuntimeError unless there is a list for each rank, with a tensor like each of `inputs`."""
    if len(outputs) != size:
        raise RuntimeError(f"{function}: output lists should be equal to world size")
    for each in outputs:
        if len(each) != len(inputs):
            raise RuntimeError(f"{function}: invalid output size: (expected length {len(inputs)}, got {len(each)})")
        for i, (tensor, output) in enumerate(zip(inputs, each, strict=True)):
            if output.shape != tensor.shape or output.dtype != tensor.dtype:
                raise RuntimeError(
                    f"{function}: invalid tensor at index {i} (expected {size_text(tensor.shape)} {tensor.dtype}, "
                    f"got {size_text(output.shape)} {output.dtype})"
                )


def check_exchanged(function: str, outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], size: int) -> None:
    """RuntimeError unless both lists have a tensor for each rank, all on one device."""
    for role, tensors in (("output", outputs), ("input", inputs)):
        if len(tensors) != size:
            raise RuntimeError(f"{function}: {role} tensor list size {len(tensors)} does not match world size {size}")
    check_device(function, inputs[0], (*inputs, *outputs))


def check_one_of_parts(output: torch.Tensor, tensor: torch.Tensor, size: int) -> None:
    """RuntimeError unless `tensor` has, along its first dimension, as many rows as all ranks' `output` together."""
    rows, total = (each.shape[0] if each.dim() else 1 for each in (output, tensor))
    if rows * size != total:
        raise RuntimeError(f"Check failed: outputShape[0] * worldSize == inputShape[0] ({rows * size} vs. {total}). ")


def check_reducible(function: str, tensor: torch.Tensor, op: Any) -> None:
    """RuntimeError or ValueError unless Gloo combines such tensors in that way."""
    if tensor.is_complex():
        if op not in (RedOpType.SUM, RedOpType.AVG):
            raise ValueError(f"{function} does not support {op} on complex tensors")
    elif tensor.dtype not in _REDUCIBLE:
        raise RuntimeError("Invalid scalar type")
    if op is RedOpType.PREMUL_SUM:
        raise RuntimeError("Cannot use ReduceOp.PREMUL_SUM with Gloo")
    if op in _BITWISE and (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")


def check_splits(tensor: torch.Tensor, splits: Sequence[int] | None, size: int) -> tuple[torch.Tensor, ...]:
    """The parts of a tensor along its first dimension: as many rows each as `splits` says, or equally many."""
    if splits:
        if len(splits) != size:
            raise RuntimeError("Number of tensor splits not equal to group size")
        if sum(splits) != tensor.shape[0]:
            raise RuntimeError("Split sizes doesn't match total dim 0 size")
        return tensor.split(list(splits))
    if tensor.shape[0] % size:
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    return tensor.split([tensor.shape[0] // size] * size)
