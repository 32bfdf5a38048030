"""Rotary position embeddings: halves or pairs of each head turned by angles."""

from __future__ import annotations

from typing import Any

from ...._operators.table import S, T, aten, namespace
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_choice, require_dtype, wide

npu = namespace("npu")


def _turned(x, mode):
    """x turned by a quarter: (x1, x2) -> (-x2, x1), of halves or of neighbours."""
    if mode == "half":
        first, second = aten.chunk(x, 2, -1)
        return aten.cat([-second, first], -1)
    pairs = aten.unflatten(x, -1, [x.shape[-1] // 2, 2])
    first, second = aten.unbind(pairs, -1)
    return aten.flatten(aten.stack([-second, first], -1), -2)


def _turned_back(x, mode):
    """The transpose of `_turned`."""
    return -_turned(x, mode)


def _check(operator, x, mode, modes=("half", "interleave")) -> None:
    require_dtype(operator, "the tensor to turn", x, HALF_AND_FLOAT)
    words = " or ".join((", ".join(modes[:-1]), modes[-1]))
    require(mode in modes, operator, f"The rotary_mode of {operator} should be {words}, but got {mode}")
    size = x.shape[-1]
    require(
        size % 2 == 0 and size <= 896,
        operator,
        f"the last dimension must be even and at most 896, but it is {size}",
    )


def _rotated(x, cos, sin, mode):
    y = wide(x)
    return (wide(cos) * y + wide(sin) * _turned(y, mode)).to(x.dtype)


def _summed_to(gradient, like):
    return gradient.sum_to_size(like.shape).to(like.dtype)


@composite(
    "npu::npu_rotary_mul(Tensor input, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None) -> Tensor",
    "r1 * x + r2 * (x turned by a quarter): halves (-x2, x1), or neighbours with 'interleave'.",
    explicit=True,
    grad={
        ("input", "r1", "r2"): lambda grad, input, r1, r2, rotary_mode: npu.npu_rotary_mul_backward(
            grad, input, r1, r2, rotary_mode
        )
    },
    samples=[S(T(2, 3, 4, 8), T(1, 3, 1, 8), T(1, 3, 1, 8)), S(T(2, 3, 8), T(2, 1, 8), T(2, 1, 8), "interleave")],
)
def npu_rotary_mul(input: Any, r1: Any, r2: Any, rotary_mode: str = "half", rotate: Any = None) -> Any:
    operator = "npu_rotary_mul"
    _check(operator, input, rotary_mode)
    require(input.dim() in (3, 4), operator, f"input must have 3 or 4 dimensions, but it has {input.dim()}")
    for name, factor in (("r1", r1), ("r2", r2)):
        sizes = list(factor.shape)
        require(
            len(sizes) == input.dim() and all(n in (1, m) for n, m in zip(sizes, input.shape, strict=True)),
            operator,
            f"{name} must have the sizes of input, {list(input.shape)}, or 1 in their places, but it has {sizes}",
        )
    if rotate is None:
        return _rotated(input, r1, r2, rotary_mode)
    x = wide(input)
    return (wide(r1) * x + wide(r2) * aten.matmul(x, wide(rotate))).to(input.dtype)


@composite(
    "npu::npu_rotary_mul_backward(Tensor grad, Tensor input, Tensor r1, Tensor r2, str rotary_mode='half') "
    "-> (Tensor, Tensor, Tensor)",
    "Gradients of npu_rotary_mul by x, r1 and r2.",
    samples=[S(T(2, 3, 4, 8), T(2, 3, 4, 8), T(1, 3, 1, 8), T(1, 3, 1, 8))],
)
def npu_rotary_mul_backward(grad: Any, input: Any, r1: Any, r2: Any, rotary_mode: str = "half") -> tuple:
    _check("npu_rotary_mul_backward", input, rotary_mode)
    g, x = wide(grad), wide(input)
    dx = wide(r1) * g + _turned_back(wide(r2) * g, rotary_mode)
    return dx.to(input.dtype), _summed_to(g * x, r1), _summed_to(g * _turned(x, rotary_mode), r2)


_LAYOUTS = ("BSND", "BSH", "SBND", "BNSD", "TND")


@composite(
    "npu::npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND', "
    "str rotary_mode='half') -> (Tensor, Tensor)",
    "Query and key turned by the same angles.",
    explicit=True,
    grad=no_gradient("npu_apply_rotary_pos_emb", "query", "key", "cos", "sin"),
    samples=[S(T(2, 3, 4, 8), T(2, 3, 1, 8), T(2, 3, 1, 8), T(2, 3, 1, 8))],
)
def npu_apply_rotary_pos_emb(
    query: Any, key: Any, cos: Any, sin: Any, layout: str = "BSND", rotary_mode: str = "half",
) -> tuple:  # fmt: skip
    operator = "npu_apply_rotary_pos_emb"
    require_choice(operator, "layout", layout, _LAYOUTS)
    _check(operator, query, rotary_mode)
    return _rotated(query, cos, sin, rotary_mode), _rotated(key, cos, sin, rotary_mode)


@composite(
    "npu::npu_interleave_rope(Tensor x, Tensor cos, Tensor sin) -> Tensor",
    "Pairs are brought to halves first, then turned: (B, N, S, 64) with angles (B, 1, S or 1, 64).",
    explicit=True,
    grad=no_gradient("npu_interleave_rope", "x", "cos", "sin"),
    samples=[S(T(2, 3, 4, 64), T(2, 1, 4, 64), T(2, 1, 4, 64))],
)
def npu_interleave_rope(x: Any, cos: Any, sin: Any) -> Any:
    operator = "npu_interleave_rope"
    require(x.dim() == 4 and x.shape[-1] == 64, operator, f"x must be (B, N, S, 64), but its sizes are {list(x.shape)}")
    return _rotated(halved(x), cos, sin, "half")


def halved(x: Any) -> Any:
    """Even elements of the last dimension first, then the odd ones."""
    return aten.flatten(aten.transpose(aten.unflatten(x, -1, [x.shape[-1] // 2, 2]), -1, -2), -2)


def _turn_heads(x, cos, sin, head_size, mode):
    """The first columns of each head of (tokens, heads * head_size), as many as two angles' widths, turned."""
    heads = aten.unflatten(x, -1, [x.shape[-1] // head_size, head_size])
    width = 2 * cos.shape[-1]
    both = (lambda a: aten.cat([a, a], -1)) if mode == "half" else (lambda a: aten.repeat_interleave(a, 2, -1))
    turned = _rotated(heads[..., :width], both(cos).unsqueeze(1), both(sin).unsqueeze(1), mode)
    return aten.flatten(aten.cat([turned, heads[..., width:]], -1), -2)


@composite(
    "atb::_npu_rotary_embedding(Tensor positions, Tensor(a!) query, Tensor(b!) key, int head_size, Tensor cos_sin_cache, "
    "bool is_neox_style) -> ()",
    "Query and key of (tokens, heads * head_size) turned in place by the rows of a cache that positions name.",
    explicit=True,
)
def _npu_rotary_embedding(
    positions: Any, query: Any, key: Any, head_size: int, cos_sin_cache: Any, is_neox_style: bool,
) -> None:  # fmt: skip
    cos, sin = aten.chunk(aten.index_select(cos_sin_cache, 0, positions.flatten()), 2, -1)
    mode = "half" if is_neox_style else "interleave"
    for x in (query, key):
        aten.copy_(x, _turn_heads(x.reshape(-1, x.shape[-1]), cos, sin, head_size, mode).reshape(x.shape))


def _by_sections(angles: Any, sections: list, cache_mode: str) -> Any:
    """Angles (m, tokens, n) by sections of the width, or in turns: from row r those at r, r + 3, ... below 3 sections[1]."""
    if cache_mode == "default":
        return aten.cat([part[i] for i, part in enumerate(aten.split(angles, sections, -1))], -1)
    place = aten.arange(angles.shape[-1], device=angles.device)
    row = aten.where(place < 3 * sections[1], place % 3, 0)
    return aten.gather(angles, 0, row.expand([1, *angles.shape[1:]])).squeeze(0)


@composite(
    "npu::npu_mrope(Tensor positions, Tensor query, Tensor key, Tensor cos_sin_cache, int head_size, *, "
    "int[]? mrope_section=None, str? rotary_mode='half', str? cache_mode='default') -> (Tensor, Tensor)",
    "Rotation whose angles come section by section from several rows of positions.",
    explicit=True,
    grad=no_gradient("npu_mrope", "query", "key"),
)
def npu_mrope(
    positions: Any, query: Any, key: Any, cos_sin_cache: Any, head_size: int, *, mrope_section: Any = None,
    rotary_mode: Any = "half", cache_mode: Any = "default",
) -> tuple:  # fmt: skip
    operator = "npu_mrope"
    require_choice(operator, "rotary_mode", rotary_mode, ("half", "interleave"))
    require(
        cache_mode in ("default", "interleave"),
        operator,
        f"cache_mode only support default or interleave, but it is {cache_mode!r}",
    )
    chosen = cos_sin_cache[positions]  # (tokens, D) or (m, tokens, D)
    cos, sin = aten.chunk(chosen, 2, -1)
    if positions.dim() == 2 and mrope_section and any(mrope_section):
        require(
            len(mrope_section) == positions.shape[0] and sum(mrope_section) == cos.shape[-1],
            operator,
            f"mrope_section must have {positions.shape[0]} parts that sum to {cos.shape[-1]}, but it is {mrope_section}",
        )
        cos, sin = (_by_sections(angles, mrope_section, cache_mode) for angles in (cos, sin))
    elif positions.dim() == 2:
        cos, sin = cos[0], sin[0]
    return (
        _turn_heads(query, cos, sin, head_size, rotary_mode),
        _turn_heads(key, cos, sin, head_size, rotary_mode),
    )
