"""Linear attention by the gated delta rule, in chunks of tokens: S_t = a_t S_{t-1} (I - b_t k_t k_t') + b_t v_t k_t'."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_dtype, wide
from .numbers import numbers_of

_CHUNK = 64


def _inverse_of_one_plus(a):
    """(I + a)^-1 for strictly lower triangular matrices: products of I + (-a)^(2^i), which end as a is nilpotent."""
    size = a.shape[-1]
    one = aten.eye(size, dtype=a.dtype, device=a.device)
    power, made, reach = -a, one - a, 2
    while reach < size:
        power = aten.matmul(power, power)
        made = aten.matmul(made, one + power)
        reach *= 2
    return made


def _chunk(q, k, v, beta, log_decay, state) -> tuple:
    """Outputs of one chunk and the state behind it; all (heads, tokens, width), the state (heads, Dv, Dk)."""
    total = aten.cumsum(log_decay, -1)
    size = total.shape[-1]
    lower = aten.ones([size, size], dtype=DTYPES["bool"], device=q.device)
    later = aten.tril(lower)
    decay = aten.where(later, aten.exp(aten.where(later, total.unsqueeze(-1) - total.unsqueeze(-2), 0)), 0)
    keys = k * beta.unsqueeze(-1)
    mixing = aten.matmul(keys, k.transpose(-1, -2)) * aten.where(aten.tril(lower, -1), decay, 0)
    solve = _inverse_of_one_plus(mixing)
    from_start = aten.exp(total).unsqueeze(-1)
    values = aten.matmul(solve, v * beta.unsqueeze(-1)) - aten.matmul(
        aten.matmul(solve, keys * from_start), state.transpose(-1, -2)
    )
    out = aten.matmul(q * from_start, state.transpose(-1, -2))
    out = out + aten.matmul(aten.matmul(q, k.transpose(-1, -2)) * decay, values)
    to_end = aten.exp(total[:, -1:] - total).unsqueeze(-1)
    return out, state * from_start[:, -1:] + aten.matmul(values.transpose(-1, -2), k * to_end)


@composite(
    "npu::npu_chunk_gated_delta_rule(Tensor query, Tensor key, Tensor value, *, Tensor? beta=None, Tensor? "
    "initial_state=None, Tensor? actual_seq_lengths=None, float? scale=None, Tensor? g=None) -> (Tensor, Tensor)",
    "Each token's S_t (scale q_t), where the state S forgets by exp(g_t) and moves by beta_t towards v_t along k_t; "
    "and the last states.",
    explicit=True,
    grad=no_gradient("npu_chunk_gated_delta_rule", "query", "key", "value"),
)
def npu_chunk_gated_delta_rule(
    query: Any, key: Any, value: Any, *, beta: Any = None, initial_state: Any = None, actual_seq_lengths: Any = None,
    scale: Any = None, g: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_chunk_gated_delta_rule"
    for name, x in (("query", query), ("key", key), ("value", value)):
        require_dtype(operator, name, x, HALF_AND_FLOAT)
        require(x.dim() == 3, operator, f"{name} must be (tokens, heads, width), but it has {x.dim()} dimensions")
    for name, x in (("beta", beta), ("initial_state", initial_state), ("actual_seq_lengths", actual_seq_lengths)):
        require(x is not None, operator, f"{name} is needed")
    heads, key_heads = value.shape[1], key.shape[1]
    require(heads % key_heads == 0, operator, f"the {key_heads} heads of key must divide the {heads} of value")
    lengths = numbers_of(actual_seq_lengths, [0] * (actual_seq_lengths.numel() - 1) + [query.shape[0]])
    require(
        sum(lengths) == query.shape[0] and len(lengths) == initial_state.shape[0],
        operator,
        f"actual_seq_lengths must sum to the {query.shape[0]} tokens of {initial_state.shape[0]} sequences, but it is {lengths}",
    )
    factor = 1.0 if scale is None else scale
    q, k = (aten.repeat_interleave(wide(x).transpose(0, 1), heads // key_heads, 0) for x in (query * factor, key))
    v, b = wide(value).transpose(0, 1), wide(beta).transpose(0, 1)
    decay = aten.zeros_like(b) if g is None else wide(g).transpose(0, 1)
    outs, states, start = [], [], 0
    for number, length in enumerate(lengths):
        state = wide(initial_state[number])
        for first in range(start, start + length, _CHUNK):
            at = slice(first, min(first + _CHUNK, start + length))
            out, state = _chunk(q[:, at], k[:, at], v[:, at], b[:, at], decay[:, at], state)
            outs.append(out)
        states.append(state)
        start += length
    return aten.contiguous(aten.cat(outs, 1).transpose(0, 1)).to(value.dtype), aten.stack(states).to(
        initial_state.dtype
    )
