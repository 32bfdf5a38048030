"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

from .kernels import OUT, fused

_MODES = {"half": 0, "interleave": 1}


def _angles(x: Any, *angles: Any) -> tuple | None:
    """Angles in the dtype of what they turn; None where their sizes are not the operator's."""
    fits = all(
        each.dim() == x.dim()
        and each.shape[-1] == x.shape[-1]
        and all(size in (1, own) for size, own in zip(each.shape, x.shape, strict=True))
        for each in angles
    )
    return tuple(each.to(x.dtype) for each in angles) if fits and x.dim() in (3, 4) else None


@fused("npu::npu_rotary_mul", "aclnnRotaryPositionEmbedding")
def rotary_mul(self: Any, r1: Any, r2: Any, rotary_mode: str, rotate: Any) -> tuple | None:
    angles = None if rotate is not None or rotary_mode not in _MODES else _angles(self, r1, r2)
    return None if angles is None else (self, *angles, _MODES[rotary_mode], OUT[0])


@fused("npu::npu_rotary_mul_backward", "aclnnRotaryPositionEmbeddingGrad")
def rotary_mul_backward(grad: Any, self: Any, r1: Any, r2: Any, rotary_mode: str) -> tuple | None:
    if rotary_mode not in _MODES or _angles(self, r1, r2) is None:
        return None
    return grad, r1, r2, self, _MODES[rotary_mode], *OUT[:3]


@fused("npu::npu_interleave_rope", "aclnnInterleaveRope")
def interleave_rope(x: Any, cos: Any, sin: Any) -> tuple | None:
    # The operator takes 16-bit numbers.
    return (x, cos, sin, OUT[0]) if x.dtype.itemsize == 2 else None
