"""Rearrangements that copy, and the places that some name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


aclnn("flip", "aclnnFlip")
aclnn("repeat", "aclnnRepeat")
aclnn("roll", "aclnnRoll")
aclnn("tril", "aclnnTril")
aclnn("triu", "aclnnTriu")


@kernel("repeat_interleave.Tensor")
def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    size = int(repeats.sum().item()) if output_size is None else output_size
    out = aten.new_empty(repeats, [size], dtype=DTYPES["int64"])
    if size:
        call("aclnnRepeatInterleaveTensor", repeats, size, out)
    return out
