"""The types that operators compute in, which ONNX wants said: it promotes nothing."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2._sizes import SymInt
from mindtorch_v2.fx import Node

__all__ = ["computed_dtype", "masks"]


_MASKS = frozenset({"condition", "mask"})
"""The names of arguments that choose, whose type has no part in that of the result."""


def masks(target: OpOverload) -> set[int]:
    """The places of the arguments that choose."""
    return {place for place, argument in enumerate(target._schema.arguments) if argument.name in _MASKS}


def computed_dtype(node: Node) -> torch.dtype | None:
    """The dtype to which the tensors that an operator is given are converted first; None where they stay as they are."""
    target = node.target
    assert isinstance(target, OpOverload)
    arguments = [each for place, each in enumerate(node.args) if place not in masks(target)]
    arguments += [each for name, each in node.kwargs.items() if name not in _MASKS]
    if target is torch.ops.aten.cat.default:
        arguments = list(node.args[0])
    elif torch.Tag.pointwise not in target.tags:
        return _accumulated(node)
    seen = [each.meta.get("val") if isinstance(each, Node) else each for each in arguments]
    tensors = [each for each in seen if isinstance(each, torch.Tensor)]
    if not tensors:
        return None
    dtype = _common(seen, tensors)
    result = node.meta.get("val")
    if isinstance(result, torch.Tensor) and result.dtype.is_floating_point and not dtype.is_floating_point:
        dtype = result.dtype  # a quotient of whole numbers, the sine of one
    mixed = any(each.dtype is not dtype for each in tensors) or any(isinstance(each, SymInt) for each in seen)
    return dtype if mixed else None


def _common(seen: list[Any], tensors: list[torch.Tensor]) -> torch.dtype:
    """The type of what is computed of tensors and numbers, by PyTorch's categories."""
    made = [torch.empty(each.shape[:0] if each.dim() == 0 else (0,), dtype=each.dtype) for each in tensors]
    numbers = [each for each in seen if isinstance(each, (bool, int, float)) and not isinstance(each, torch.Tensor)]
    dtype = made[0].dtype
    combined: Any = made[0]
    for other in [*made[1:], *numbers]:
        dtype = torch.result_type(combined, other)
        keeps_rank = combined.dim() or (isinstance(other, torch.Tensor) and other.dim())
        combined = torch.empty((0,) if keeps_rank else (), dtype=dtype)
    return dtype


def _accumulated(node: Node) -> torch.dtype | None:
    """Sums and products of whole numbers and truth values are computed in the type of the result."""
    result, first = node.meta.get("val"), node.args[0] if node.args else None
    if not isinstance(result, torch.Tensor) or not isinstance(first, Node):
        return None
    given = first.meta.get("val")
    takes_dtype = any(each.name == "dtype" for each in node.target._schema.arguments)
    if not takes_dtype or not isinstance(given, torch.Tensor) or given.dtype is result.dtype:
        return None
    return None if given.dtype.is_floating_point or given.dtype.is_complex else result.dtype
