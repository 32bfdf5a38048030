"""Rearrangements that copy, and the places that some name."""

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import aclnn, call, kernel

aclnn("flip", "aclnnFlip")
aclnn("repeat", "aclnnRepeat")
aclnn("roll", "aclnnRoll")
aclnn("tril", "aclnnTril")
aclnn("triu", "aclnnTriu")


@kernel("repeat_interleave.Tensor")
def repeat_interleave(repeats, *, output_size=None):
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    size = int(repeats.sum().item()) if output_size is None else output_size
    out = aten.new_empty(repeats, [size], dtype=DTYPES["int64"])
    if size:
        call("aclnnRepeatInterleaveTensor", repeats, size, out)
    return out
