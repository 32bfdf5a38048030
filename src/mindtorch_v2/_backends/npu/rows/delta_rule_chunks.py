"""The steps of the gated delta rule in chunks that fla_npu registers, forward and backward, heads before tokens.

Within a chunk L[i, j] = beta_i (k_i . k_j) exp(g_i - g_j) for j < i, with g the sum of the logarithms of decay since the chunk's first
token, and A = (I + L)^-1. Then w = A (beta exp(g) k) and u = A (beta v); a state h of the chunk's beginning makes the values
v' = u - w h, the results scale (exp(g) q h + (q k' * decay) v'), and the next state. What each operator gives back is one of
these or its gradient, by the formulas that the flash-linear-attention-npu project documents.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from .checks import (
    HALF_AND_FLOAT,
    composite,
    no_gradient,
    require,
    require_absent,
    require_choice,
    require_dtype,
    until_a_library_defines,
    wide,
)

_SIZES = (64, 128)  # of a chunk
_KEYS, _VALUES = 128, (128, 256)
# Tensors of the samples: a batch of 1, two heads of values for one of keys, 70 tokens in two chunks; small, so that sums of 128 stay so.
_SMALL: Any = {"low": -0.2, "high": 0.2}
_OF_KEYS, _WIDE, _OF_VALUES = T(1, 1, 70, 128, **_SMALL), T(1, 2, 70, 128, **_SMALL), T(1, 2, 70, 128, **_SMALL)
_OF_HEADS, _OF_CHUNKS = T(1, 2, 70, **_SMALL), T(1, 2, 70, 64, **_SMALL)
_STATE, _STATES = T(1, 2, 128, 128, **_SMALL), T(1, 2, 2, 128, 128, **_SMALL)


class _Chunk(NamedTuple):
    """Where a chunk lies: its tokens, and the sequence that they belong to (0 where all of a batch are as long)."""

    tokens: slice
    length: int
    sequence: int
    ends: bool  # whether it is the last of its sequence


def _chunks(operator: str, tokens: int, batch: int, size: int, ends: Any, indices: Any) -> list[_Chunk]:
    """The chunks in their order; `ends` are the sequences' (0 first), `indices` a sequence and its chunk's number, for each chunk."""
    require_choice(operator, "chunk_size", size, _SIZES)
    require(
        (ends is None) == (indices is None), operator, "cu_seqlens and chunk_indices are given together, or neither is"
    )
    spans = [(0, tokens)]
    if ends is not None:
        require(batch == 1, operator, f"cu_seqlens is for a batch of 1, but it is {batch}")
        rising = len(ends) > 1 and all(a < b for a, b in zip(ends, ends[1:], strict=False))
        require(
            rising and ends[0] == 0 and ends[-1] == tokens,
            operator,
            f"cu_seqlens must rise from 0 to the {tokens} tokens, but it is {list(ends)}",
        )
        spans = list(zip(ends, ends[1:], strict=False))
    made = [
        _Chunk(slice(first, min(first + size, stop)), min(size, stop - first), number, first + size >= stop)
        for number, (start, stop) in enumerate(spans)
        for first in range(start, stop, size)
    ]
    if indices is not None:
        expected = [
            part for number, (a, b) in enumerate(spans) for i in range(-(-(b - a) // size)) for part in (number, i)
        ]
        require(
            list(indices) == expected,
            operator,
            f"chunk_indices must be {expected} for cu_seqlens {list(ends)} and chunks of {size}, but it is {list(indices)}",
        )
    return made


def _check(operator: str, keys: dict[str, Any], values: dict[str, Any], scalars: dict[str, Any]) -> tuple[int, int]:
    """Hold arguments to the documents: (B, H, T, 128), (B, HV, T, 128 or 256) and (B, HV, T); the heads of keys, and of values."""
    for name, x in (*keys.items(), *values.items()):
        require(
            x.dim() == 4, operator, f"{name} must be (batch, heads, tokens, width), but it has {x.dim()} dimensions"
        )
        require_dtype(operator, name, x, HALF_AND_FLOAT)
    for name, x in keys.items():
        require(x.shape[3] == _KEYS, operator, f"{name} must have width {_KEYS}, but it has {x.shape[3]}")
    for name, x in values.items():
        require_choice(operator, f"the width of {name}", x.shape[3], _VALUES)
    first, last = next(iter(keys.values())), next(iter(values.values()))
    heads, value_heads = first.shape[1], last.shape[1]
    require(
        heads > 0 and value_heads % heads == 0,
        operator,
        f"the {heads} heads of keys must divide the {value_heads} of values",
    )
    for name, x in {**keys, **values, **scalars}.items():
        own = heads if name in ("q", "k") else value_heads
        wanted = [first.shape[0], own, first.shape[2]]
        require(
            x is None or (list(x.shape[:3]) == wanted and (name not in scalars or x.dim() == 3)),
            operator,
            f"{name} must have {wanted} as its batch, heads and tokens, but its sizes are {[] if x is None else list(x.shape)}",
        )
    return heads, value_heads


def _over_values(x: Any, heads: int, value_heads: int) -> Any:
    """Keys for each head of values, in the type that is computed in."""
    return wide(x) if heads == value_heads else aten.repeat_interleave(wide(x), value_heads // heads, 1)


def _over_keys(x: Any, heads: int) -> Any:
    """Gradients for each head of keys: the sums over the heads of values that read it."""
    batch, value_heads, tokens, width = x.shape
    return x if heads == value_heads else x.view([batch, heads, value_heads // heads, tokens, width]).sum([2])


def _turned(x: Any) -> Any:
    return x.transpose(-1, -2)


def _decay(g: Any, diagonal: int) -> Any:
    """exp(g_i - g_j) where j <= i (diagonal 0) or j < i (-1), else 0."""
    size = g.shape[-1]
    seen = aten.tril(aten.ones([size, size], dtype=DTYPES["bool"], device=g.device), diagonal)
    steps = aten.where(seen, g.unsqueeze(-1) - g.unsqueeze(-2), 0)
    return aten.where(seen, aten.exp(steps), 0)


def _joined(parts: list, like: Any) -> Any:
    return aten.contiguous(aten.cat(parts, 2)).to(like.dtype)


@composite(
    "npu::npu_recompute_w_u_fwd(Tensor k, Tensor v, Tensor beta, Tensor A, int chunk_size, *, Tensor? g=None, Tensor? gk=None, "
    "int[]? cu_seqlens=None, int[]? chunk_indices=None) -> (Tensor, Tensor)",
    "w = A (beta exp(g) k) and u = A (beta v) of each chunk.",
    explicit=True,
    grad=no_gradient("npu_recompute_w_u_fwd", "k", "v", "beta", "A", "g", "gk"),
    samples=[S(_OF_KEYS, _OF_VALUES, _OF_HEADS, _OF_CHUNKS, 64, g=_OF_HEADS)],
)
def npu_recompute_w_u_fwd(
    k: Any, v: Any, beta: Any, A: Any, chunk_size: int, *, g: Any = None, gk: Any = None, cu_seqlens: Any = None,
    chunk_indices: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_recompute_w_u_fwd"
    require_absent(operator, gk=gk)
    require(g is not None, operator, "g is needed")
    heads, value_heads = _check(operator, {"k": k}, {"v": v}, {"beta": beta, "g": g})
    keys, w, u = _over_values(k, heads, value_heads), [], []
    for chunk in _chunks(operator, k.shape[2], k.shape[0], chunk_size, cu_seqlens, chunk_indices):
        at = chunk.tokens
        solve, b = wide(A[:, :, at, : chunk.length]), wide(beta[:, :, at]).unsqueeze(-1)
        w.append(aten.matmul(solve, keys[:, :, at] * b * aten.exp(wide(g[:, :, at])).unsqueeze(-1)))
        u.append(aten.matmul(solve, wide(v[:, :, at]) * b))
    return _joined(w, k), _joined(u, v)


@composite(
    "npu::npu_chunk_gated_delta_rule_fwd_h(Tensor k, Tensor w, Tensor u, Tensor? g=None, *, Tensor? gk=None, Tensor? "
    "initial_state=None, bool? output_final_state=False, int? chunk_size=None, int[]? cu_seqlens=None, int[]? chunk_indices=None, "
    "bool? state_v_first=False) -> (Tensor, Tensor, Tensor)",
    "The state at each chunk's beginning, the values u - w h of all tokens, and the states behind the sequences if asked for, else None. "
    "`gk` has logarithms to base 2 for each width, and keys that are scaled by it.",
    explicit=True,
    grad=no_gradient("npu_chunk_gated_delta_rule_fwd_h", "k", "w", "u", "g", "gk", "initial_state"),
    samples=[S(_OF_KEYS, _WIDE, _OF_VALUES, _OF_HEADS, output_final_state=True)],
)
def npu_chunk_gated_delta_rule_fwd_h(
    k: Any, w: Any, u: Any, g: Any = None, *, gk: Any = None, initial_state: Any = None, output_final_state: Any = False,
    chunk_size: Any = None, cu_seqlens: Any = None, chunk_indices: Any = None, state_v_first: Any = False,
) -> tuple:  # fmt: skip
    operator = "npu_chunk_gated_delta_rule_fwd_h"
    require(g is not None or gk is not None, operator, "g or gk is needed")
    heads, value_heads = _check(operator, {"k": k, "w": w}, {"u": u}, {"g": g})
    size = 64 if chunk_size is None else chunk_size
    chunks = _chunks(operator, k.shape[2], k.shape[0], size, cu_seqlens, chunk_indices)
    sequences = k.shape[0] if cu_seqlens is None else len(cu_seqlens) - 1
    sizes = [sequences, value_heads, k.shape[3], u.shape[3]]
    if initial_state is None:
        first = aten.zeros(sizes, dtype=wide(k[:, :0, :0]).dtype, device=k.device)
    else:
        first = wide(_turned(initial_state) if state_v_first else initial_state)
        require(
            list(first.shape) == sizes,
            operator,
            f"initial_state must have the sizes {sizes[:2]} and those of a state, but they are {list(initial_state.shape)}",
        )
    keys, states, values, last = _over_values(k, heads, value_heads), [], [], []
    state, sequence = None, -1
    for chunk in chunks:
        at = chunk.tokens
        if chunk.sequence != sequence:
            sequence, state = (
                chunk.sequence,
                first if cu_seqlens is None else first[chunk.sequence : chunk.sequence + 1],
            )
        states.append(state)
        value = wide(u[:, :, at]) - aten.matmul(wide(w[:, :, at]), state)
        values.append(value)
        if g is not None:
            decay = wide(g[:, :, at])
            value = value * aten.exp(decay[:, :, -1:] - decay).unsqueeze(-1)
            state = state * aten.exp(decay[:, :, -1:]).unsqueeze(-1)
        if gk is not None:
            state = state * aten.exp2(wide(gk[:, :, at][:, :, -1])).unsqueeze(-1)
        state = state + aten.matmul(_turned(keys[:, :, at]), value)
        if chunk.ends:
            last.append(state)
    h, final = aten.stack(states, 2), aten.cat(last, 0)
    if state_v_first:
        h, final = aten.contiguous(_turned(h)), aten.contiguous(_turned(final))
    kind = DTYPES["float32"] if initial_state is None else initial_state.dtype
    return h.to(k.dtype), _joined(values, u), final.to(kind) if output_final_state else None


@composite(
    "npu::npu_chunk_fwd_o(Tensor q, Tensor k, Tensor v, Tensor h, float scale, *, Tensor? g=None, Tensor? g_gamma=None, int[]? "
    "cu_seqlens=None, int[]? chunk_indices=None, int? chunk_size=None, bool? transpose_state_layout=False) -> Tensor",
    "Each token's scale * (exp(g) q h + (q k' * decay) v), with the state h of its chunk's beginning.",
    explicit=True,
    grad=no_gradient("npu_chunk_fwd_o", "q", "k", "v", "h", "g", "g_gamma"),
    samples=[S(_OF_KEYS, _OF_KEYS, _OF_VALUES, _STATES, 0.1, g=_OF_HEADS)],
)
def npu_chunk_fwd_o(
    q: Any, k: Any, v: Any, h: Any, scale: float, *, g: Any = None, g_gamma: Any = None, cu_seqlens: Any = None,
    chunk_indices: Any = None, chunk_size: Any = None, transpose_state_layout: Any = False,
) -> Any:  # fmt: skip
    operator = "npu_chunk_fwd_o"
    require_absent(operator, g_gamma=g_gamma)
    require_choice(operator, "transpose_state_layout", transpose_state_layout, (False, None))
    require(g is not None, operator, "g is needed")
    heads, value_heads = _check(operator, {"q": q, "k": k}, {"v": v}, {"g": g})
    size = 64 if chunk_size is None else chunk_size
    queries, keys, parts = _over_values(q, heads, value_heads), _over_values(k, heads, value_heads), []
    for number, chunk in enumerate(_chunks(operator, q.shape[2], q.shape[0], size, cu_seqlens, chunk_indices)):
        at = chunk.tokens
        decay = wide(g[:, :, at])
        scores = aten.matmul(queries[:, :, at], _turned(keys[:, :, at])) * _decay(decay, 0)
        across = aten.matmul(queries[:, :, at] * aten.exp(decay).unsqueeze(-1), wide(h[:, :, number]))
        parts.append((across + aten.matmul(scores, wide(v[:, :, at]))) * scale)
    return _joined(parts, v)


@composite(
    "npu::npu_chunk_bwd_dv_local(Tensor q, Tensor k, Tensor d_o, Tensor g, float scale, int chunk_size, *, Tensor? g_gamma=None, "
    "Tensor? A=None, int[]? cu_seqlens=None, int[]? chunk_indices=None) -> Tensor",
    "The part of the values' gradient that comes from their own chunk: scale * (q k' * decay)' d_o. `A` is not read.",
    explicit=True,
    grad=no_gradient("npu_chunk_bwd_dv_local", "q", "k", "d_o", "g", "g_gamma", "A"),
    samples=[S(_OF_KEYS, _OF_KEYS, _OF_VALUES, _OF_HEADS, 0.1, 64)],
)
def npu_chunk_bwd_dv_local(
    q: Any, k: Any, d_o: Any, g: Any, scale: float, chunk_size: int, *, g_gamma: Any = None, A: Any = None,
    cu_seqlens: Any = None, chunk_indices: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_chunk_bwd_dv_local"
    require_absent(operator, g_gamma=g_gamma)
    heads, value_heads = _check(operator, {"q": q, "k": k}, {"d_o": d_o}, {"g": g})
    queries, keys, parts = _over_values(q, heads, value_heads), _over_values(k, heads, value_heads), []
    for chunk in _chunks(operator, q.shape[2], q.shape[0], chunk_size, cu_seqlens, chunk_indices):
        at = chunk.tokens
        scores = aten.matmul(queries[:, :, at], _turned(keys[:, :, at])) * _decay(wide(g[:, :, at]), 0)
        parts.append(aten.matmul(_turned(scores), wide(d_o[:, :, at])) * scale)
    return _joined(parts, d_o)


@composite(
    "npu::npu_chunk_gated_delta_rule_bwd_dhu(Tensor q, Tensor k, Tensor w, Tensor d_o, Tensor dv, float scale, int chunk_size, *, "
    "Tensor? g=None, Tensor? gK=None, Tensor? h0=None, Tensor? dht=None, int[]? cu_seqlens=None, int[]? chunk_indices=None, bool? "
    "use_exp2=False, bool? transpose_state_layout=False) -> (Tensor, Tensor, Tensor)",
    "Gradients of the states behind each chunk, of the first states (None without `h0`), and of the values: dv with what the states add.",
    explicit=True,
    grad=no_gradient("npu_chunk_gated_delta_rule_bwd_dhu", "q", "k", "w", "d_o", "dv", "g", "gK", "h0", "dht"),
    samples=[S(_OF_KEYS, _OF_KEYS, _WIDE, _OF_VALUES, _OF_VALUES, 0.1, 64, g=_OF_HEADS, h0=_STATE)],
)
def npu_chunk_gated_delta_rule_bwd_dhu(
    q: Any, k: Any, w: Any, d_o: Any, dv: Any, scale: float, chunk_size: int, *, g: Any = None, gK: Any = None, h0: Any = None,
    dht: Any = None, cu_seqlens: Any = None, chunk_indices: Any = None, use_exp2: Any = False, transpose_state_layout: Any = False,
) -> tuple:  # fmt: skip
    operator = "npu_chunk_gated_delta_rule_bwd_dhu"
    require_absent(operator, gK=gK)
    require_choice(operator, "use_exp2", use_exp2, (False, None))
    require_choice(operator, "transpose_state_layout", transpose_state_layout, (False, None))
    heads, value_heads = _check(operator, {"q": q, "k": k, "w": w}, {"dv": dv, "d_o": d_o}, {"g": g})
    chunks = _chunks(operator, q.shape[2], q.shape[0], chunk_size, cu_seqlens, chunk_indices)
    sequences = q.shape[0] if cu_seqlens is None else len(cu_seqlens) - 1
    sizes = [sequences, value_heads, k.shape[3], dv.shape[3]]
    for name, x in (("h0", h0), ("dht", dht)):
        require(
            x is None or list(x.shape) == sizes,
            operator,
            f"{name} must have the sizes {sizes}, but they are {[] if x is None else list(x.shape)}",
        )
    queries, keys = _over_values(q, heads, value_heads), _over_values(k, heads, value_heads)
    ends = aten.zeros(sizes, dtype=queries.dtype, device=q.device) if dht is None else wide(dht)
    states: list[Any] = [None] * len(chunks)
    values: list[Any] = [None] * len(chunks)
    firsts: list[Any] = []
    state, sequence = None, -1
    for number in range(len(chunks) - 1, -1, -1):
        at = chunks[number].tokens
        if chunks[number].ends:
            sequence = chunks[number].sequence
            state = ends if cu_seqlens is None else ends[sequence : sequence + 1]
        states[number] = state
        value = aten.matmul(keys[:, :, at], state)
        read = queries[:, :, at]
        if g is not None:
            decay = wide(g[:, :, at])
            value = value * aten.exp(decay[:, :, -1:] - decay).unsqueeze(-1)
            state = state * aten.exp(decay[:, :, -1:]).unsqueeze(-1)
            read = read * aten.exp(decay).unsqueeze(-1)
        values[number] = value + wide(dv[:, :, at])
        state = state + aten.matmul(_turned(read), wide(d_o[:, :, at])) * scale
        state = state - aten.matmul(_turned(wide(w[:, :, at])), values[number])
        if number == 0 or chunks[number - 1].ends:
            firsts.insert(0, state)
    first = None if h0 is None else aten.cat(firsts, 0).to(q.dtype)
    return aten.stack(states, 2).to(q.dtype), first, _joined(values, dv)


@composite(
    "npu::npu_chunk_bwd_dqkwg(Tensor q, Tensor k, Tensor v, Tensor g, Tensor h, Tensor dox, Tensor dh, Tensor dv, int chunk_size, *, "
    "int[]? cu_seqlens=None, int[]? chunk_indices=None, Tensor? w=None, Tensor? g_gamma=None, float? scale=None, bool? "
    "use_exp2=None, bool? transpose_state_layout=None) -> (Tensor, Tensor, Tensor, Tensor)",
    "Gradients of q, k, w and g, given those of the results (dox), of the states behind each chunk (dh) and of the values (dv).",
    explicit=True,
    grad=no_gradient("npu_chunk_bwd_dqkwg", "q", "k", "v", "g", "h", "dox", "dh", "dv", "w", "g_gamma"),
    samples=[S(_OF_KEYS, _OF_KEYS, _OF_VALUES, _OF_HEADS, _STATES, _OF_VALUES, _STATES, _OF_VALUES, 64, scale=0.1)],
)
def npu_chunk_bwd_dqkwg(
    q: Any, k: Any, v: Any, g: Any, h: Any, dox: Any, dh: Any, dv: Any, chunk_size: int, *, cu_seqlens: Any = None,
    chunk_indices: Any = None, w: Any = None, g_gamma: Any = None, scale: Any = None, use_exp2: Any = None,
    transpose_state_layout: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_chunk_bwd_dqkwg"
    require_absent(operator, w=w, g_gamma=g_gamma)
    require_choice(operator, "use_exp2", use_exp2, (False, None))
    require_choice(operator, "transpose_state_layout", transpose_state_layout, (False, None))
    heads, value_heads = _check(operator, {"q": q, "k": k}, {"v": v, "dox": dox, "dv": dv}, {"g": g})
    factor = 1.0 if scale is None else scale
    queries, keys = _over_values(q, heads, value_heads), _over_values(k, heads, value_heads)
    of_q, of_k, of_w, of_g = [], [], [], []
    for number, chunk in enumerate(_chunks(operator, q.shape[2], q.shape[0], chunk_size, cu_seqlens, chunk_indices)):
        at = chunk.tokens
        a, b, decay, values, out = (
            queries[:, :, at],
            keys[:, :, at],
            wide(g[:, :, at]),
            wide(v[:, :, at]),
            wide(dox[:, :, at]),
        )
        state, of_state = wide(h[:, :, number]), wide(dh[:, :, number])
        end = decay[:, :, -1:]
        dq = aten.matmul(out, _turned(state)) * aten.exp(decay).unsqueeze(-1) * factor
        dk = aten.matmul(values, _turned(of_state)) * aten.exp(end - decay).unsqueeze(-1)
        of_w.append(-aten.matmul(wide(dv[:, :, at]), _turned(state)))
        scores = aten.matmul(out, _turned(values)) * _decay(decay, 0) * factor
        weighed = scores * aten.matmul(a, _turned(b))
        moved = (b * dk).sum([-1])
        step = (a * dq).sum([-1]) - moved + weighed.sum([-1]) - weighed.sum([-2])
        at_end = moved.sum([-1]) + (state * of_state).sum([-1, -2]) * aten.exp(end.squeeze(-1))
        of_g.append(aten.cat([step[:, :, :-1], step[:, :, -1:] + at_end.unsqueeze(-1)], 2))
        of_q.append(dq + aten.matmul(scores, b))
        of_k.append(dk + aten.matmul(_turned(scores), a))
    return (
        _over_keys(aten.cat(of_q, 2), heads).to(q.dtype),
        _over_keys(aten.cat(of_k, 2), heads).to(k.dtype),
        _joined(of_w, q),
        _joined(of_g, g),
    )


@composite(
    "npu::npu_prepare_wy_repr_bwd_da(Tensor k, Tensor v, Tensor beta, Tensor A, Tensor dw, Tensor du, Tensor g, *, int chunk_size, "
    "int[]? cu_seqlens=None, int[]? chunk_indices=None) -> Tensor",
    "The gradient of L by those of w and u, times the decay, transposed in each chunk: what npu_prepare_wy_repr_bwd_full takes as dA.",
    explicit=True,
    grad=no_gradient("npu_prepare_wy_repr_bwd_da", "k", "v", "beta", "A", "dw", "du", "g"),
    samples=[S(_OF_KEYS, _OF_VALUES, _OF_HEADS, _OF_CHUNKS, _WIDE, _OF_VALUES, _OF_HEADS, chunk_size=64)],
)
def npu_prepare_wy_repr_bwd_da(
    k: Any, v: Any, beta: Any, A: Any, dw: Any, du: Any, g: Any, *, chunk_size: int, cu_seqlens: Any = None,
    chunk_indices: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_prepare_wy_repr_bwd_da"
    heads, value_heads = _check(operator, {"k": k, "dw": dw}, {"v": v, "du": du}, {"beta": beta, "g": g})
    keys, parts = _over_values(k, heads, value_heads), []
    for chunk in _chunks(operator, k.shape[2], k.shape[0], chunk_size, cu_seqlens, chunk_indices):
        at, n = chunk.tokens, chunk.length
        decay, b, solve = wide(g[:, :, at]), wide(beta[:, :, at]).unsqueeze(-1), wide(A[:, :, at, :n])
        of_a = aten.matmul(wide(dw[:, :, at]), _turned(keys[:, :, at] * b * aten.exp(decay).unsqueeze(-1)))
        of_a = aten.tril(of_a + aten.matmul(wide(du[:, :, at]), _turned(wide(v[:, :, at]) * b)), -1)
        of_l = -aten.matmul(_turned(solve), aten.matmul(of_a, _turned(solve))) * _decay(decay, -1)
        parts.append(aten.constant_pad_nd(_turned(of_l), [0, A.shape[3] - n], 0))
    return _joined(parts, A)


@composite(
    "npu::npu_prepare_wy_repr_bwd_full(Tensor k, Tensor v, Tensor beta, Tensor A, Tensor dA, Tensor dw, Tensor du, Tensor g, int "
    "chunk_size, *, int[]? cu_seqlens=None, int[]? chunk_indices=None) -> (Tensor dk, Tensor dv, Tensor dbeta, Tensor dg)",
    "Gradients of k, v, beta and g by those of w and u and by npu_prepare_wy_repr_bwd_da's dA.",
    explicit=True,
    grad=no_gradient("npu_prepare_wy_repr_bwd_full", "k", "v", "beta", "A", "dA", "dw", "du", "g"),
    samples=[S(_OF_KEYS, _OF_VALUES, _OF_HEADS, _OF_CHUNKS, _OF_CHUNKS, _WIDE, _OF_VALUES, _OF_HEADS, 64)],
)
def npu_prepare_wy_repr_bwd_full(
    k: Any, v: Any, beta: Any, A: Any, dA: Any, dw: Any, du: Any, g: Any, chunk_size: int, *, cu_seqlens: Any = None,
    chunk_indices: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_prepare_wy_repr_bwd_full"
    heads, value_heads = _check(operator, {"k": k, "dw": dw}, {"v": v, "du": du}, {"beta": beta, "g": g})
    keys, of_k, of_v, of_b, of_g = _over_values(k, heads, value_heads), [], [], [], []
    for chunk in _chunks(operator, k.shape[2], k.shape[0], chunk_size, cu_seqlens, chunk_indices):
        at, n = chunk.tokens, chunk.length
        key, value, b = keys[:, :, at], wide(v[:, :, at]), wide(beta[:, :, at]).unsqueeze(-1)
        growth = aten.exp(wide(g[:, :, at])).unsqueeze(-1)
        solve, of_l = _turned(wide(A[:, :, at, :n])), _turned(wide(dA[:, :, at, :n]))
        by_w, by_u = aten.matmul(solve, wide(dw[:, :, at])), aten.matmul(solve, wide(du[:, :, at]))
        mixed = aten.matmul(of_l, key)
        of_k.append(aten.matmul(_turned(of_l), key * b) + mixed * b + by_w * b * growth)
        of_v.append(by_u * b)
        of_b.append((mixed * key).sum([-1]) + (by_w * key * growth).sum([-1]) + (by_u * value).sum([-1]))
        weighed = of_l * aten.matmul(key, _turned(key)) * b
        of_g.append((by_w * key * b * growth).sum([-1]) + weighed.sum([-1]) - weighed.sum([-2]))
    return _over_keys(aten.cat(of_k, 2), heads).to(k.dtype), _joined(of_v, v), _joined(of_b, beta), _joined(of_g, g)


until_a_library_defines(
    "npu_recompute_w_u_fwd", "npu_chunk_gated_delta_rule_fwd_h", "npu_chunk_fwd_o", "npu_chunk_bwd_dv_local",
    "npu_chunk_gated_delta_rule_bwd_dhu", "npu_chunk_bwd_dqkwg", "npu_prepare_wy_repr_bwd_da", "npu_prepare_wy_repr_bwd_full",
)  # fmt: skip
