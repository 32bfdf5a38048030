"""Joining tensors: each is copied into its part of the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..copies import copy
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("cat")
def cat(tensors: Sequence[Tensor], dim: int, out: Tensor) -> None:
    at = 0
    for tensor in tensors:
        if tuple(tensor.shape) == (0,):  # joins with tensors of any dimensions
            continue
        length = tensor.shape[dim]
        if tensor.numel():
            copy(aten.narrow(out, dim, at, length), tensor)
        at += length


@kernel("stack")
def stack(tensors: Sequence[Tensor], dim: int, out: Tensor) -> None:
    if out.numel():
        for part, tensor in zip(aten.unbind(out, dim), tensors, strict=True):
            copy(part, tensor)
