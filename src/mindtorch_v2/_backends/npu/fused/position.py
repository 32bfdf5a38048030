"""Rotary position embeddings."""

from __future__ import annotations

from typing import Any

from ...._operators.table import aten
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
def rotary_mul(input: Any, r1: Any, r2: Any, rotary_mode: str, rotate: Any) -> tuple | None:
    angles = None if rotate is not None or rotary_mode not in _MODES else _angles(input, r1, r2)
    return None if angles is None else (input, *angles, _MODES[rotary_mode], OUT[0])


@fused("npu::npu_rotary_mul_backward", "aclnnRotaryPositionEmbeddingGrad")
def rotary_mul_backward(grad: Any, input: Any, r1: Any, r2: Any, rotary_mode: str) -> tuple | None:
    if rotary_mode not in _MODES or _angles(input, r1, r2) is None:
        return None
    return grad, r1, r2, input, _MODES[rotary_mode], *OUT[:3]


@fused("npu::npu_interleave_rope", "aclnnInterleaveRope")
def interleave_rope(x: Any, cos: Any, sin: Any) -> tuple | None:
    # The operator takes 16-bit numbers.
    return (x, cos, sin, OUT[0]) if x.dtype.itemsize == 2 else None


_PLACES = {"BSND": 1, "BSH": 1, "SBND": 2, "BNSD": 3, "TND": 4}


@fused(
    "npu::npu_apply_rotary_pos_emb",
    "aclnnApplyRotaryPosEmbV2",
    results=lambda query, key, *_: [aten.contiguous(aten.clone(query)), aten.contiguous(aten.clone(key))],
)
def apply_rotary_pos_emb(query: Any, key: Any, cos: Any, sin: Any, layout: str, rotary_mode: str) -> tuple | None:
    # The operator turns in place, and has 16-bit or float32 numbers of one kind.
    rank = 3 if layout == "TND" else 4
    fits = layout in _PLACES and rotary_mode in ("half", "interleave") and query.dim() == key.dim() == rank
    if not fits or query.dtype != key.dtype or _angles(key, cos, sin) is None:
        return None
    angles = _angles(query, cos, sin)
    return None if angles is None else (*OUT[:2], *angles, _PLACES[layout], rotary_mode)
