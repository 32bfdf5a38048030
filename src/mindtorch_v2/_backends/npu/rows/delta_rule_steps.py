"""Linear attention by the gated delta rule, token by token, from states that lie in a table and back into it: decoding."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, require, require_dtype, wide
from .numbers import has_numbers
from .runs import is_recorded

_INT64 = DTYPES["int64"]


def _step(state, q, k, v, b, decay) -> tuple:
    """S, (heads, Dv, Dk), behind one token, and S q: it forgets by `decay`, then moves by b towards v along k."""
    state = state * decay
    lack = v - aten.matmul(state, k.unsqueeze(-1)).squeeze(-1)
    state = state + (lack * b.unsqueeze(-1)).unsqueeze(-1) * k.unsqueeze(-2)
    return state, aten.matmul(state, q.unsqueeze(-1)).squeeze(-1)


def _check(operator, tokens, lengths, accepted, places, count) -> None:
    require(
        sum(lengths) == tokens, operator, f"actual_seq_lengths must sum to the {tokens} tokens, but it is {lengths}"
    )
    for number, (taken, length) in enumerate(zip(accepted, lengths, strict=True)):
        require(
            length == 0 or 1 <= taken <= length,
            operator,
            f"num_accepted_tokens of sequence {number} must be from 1 to its length, {length}, but it is {taken}",
        )
    for place in places:
        require(0 <= place < count, operator, f"ssm_state_indices must be from 0 to {count - 1}, but one is {place}")


@composite(
    "npu::npu_recurrent_gated_delta_rule(Tensor query, Tensor key, Tensor value, Tensor(a!) state, *, Tensor? beta=None, float? "
    "scale=None, Tensor? actual_seq_lengths=None, Tensor? ssm_state_indices=None, Tensor? num_accepted_tokens=None, Tensor? g=None, "
    "Tensor? gk=None) -> Tensor",
    "npu_chunk_gated_delta_rule token by token. A sequence begins with the state of its last accepted token, its first without "
    "num_accepted_tokens; the state behind each token is written to the place that ssm_state_indices names for it. `gk` forgets each "
    "column of the state by its own.",
    explicit=True,
)
def npu_recurrent_gated_delta_rule(
    query: Any, key: Any, value: Any, state: Any, *, beta: Any = None, scale: Any = None, actual_seq_lengths: Any = None,
    ssm_state_indices: Any = None, num_accepted_tokens: Any = None, g: Any = None, gk: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_recurrent_gated_delta_rule"
    for name, x in (("query", query), ("key", key), ("value", value)):
        require_dtype(operator, name, x, HALF_AND_FLOAT)
        require(x.dim() == 3, operator, f"{name} must be (tokens, heads, width), but it has {x.dim()} dimensions")
    for name, x in (
        ("beta", beta), ("scale", scale), ("actual_seq_lengths", actual_seq_lengths), ("ssm_state_indices", ssm_state_indices),
    ):  # fmt: skip
        require(x is not None, operator, f"{name} is needed")
    tokens, heads, key_heads = query.shape[0], value.shape[1], key.shape[1]
    require(heads % key_heads == 0, operator, f"the {key_heads} heads of key must divide the {heads} of value")
    wanted = [heads, value.shape[2], key.shape[2]]
    require(
        list(state.shape[1:]) == wanted,
        operator,
        f"state must be (places, {', '.join(map(str, wanted))}), but its sizes are {list(state.shape)}",
    )
    count = actual_seq_lengths.numel()
    require(
        ssm_state_indices.numel() == tokens,
        operator,
        f"ssm_state_indices must name a place for each of the {tokens} tokens, but it names {ssm_state_indices.numel()}",
    )
    lengths, places = actual_seq_lengths.flatten().to(_INT64), ssm_state_indices.flatten().to(_INT64)
    accepted = aten.ones_like(lengths) if num_accepted_tokens is None else num_accepted_tokens.flatten().to(_INT64)
    if has_numbers(query) and not is_recorded(query):
        _check(operator, tokens, lengths.tolist(), accepted.tolist(), places.tolist(), state.shape[0])
    ends = aten.cumsum(lengths, 0)
    numbers = aten.arange(tokens, device=query.device)
    sequence = aten.clamp(aten.searchsorted(ends, numbers, right=True), max=count - 1)
    start = aten.index_select(ends - lengths, 0, sequence)
    before = aten.index_select(places, 0, start + aten.index_select(accepted, 0, sequence) - 1)
    begins = numbers == start
    q, k = (aten.repeat_interleave(wide(x), heads // key_heads, 1) for x in (query * scale, key))
    v, b = wide(value), wide(beta)
    decay = aten.ones([tokens, heads, 1, 1], dtype=v.dtype, device=v.device)
    decay = decay if g is None else decay * aten.exp(wide(g)).reshape(tokens, heads, 1, 1).to(v.dtype)
    decay = decay if gk is None else decay * aten.exp(wide(gk)).unsqueeze(-2).to(v.dtype)
    outs: list[Any] = []
    now: Any = None
    for token in range(tokens):
        there = wide(aten.index_select(state, 0, before[token : token + 1]).squeeze(0))
        now = there if token == 0 else aten.where(begins[token], there, now)
        now, out = _step(now, q[token], k[token], v[token], b[token], decay[token])
        outs.append(out)
        aten.index_copy_(state, 0, places[token : token + 1], now.unsqueeze(0).to(state.dtype))
    return aten.stack(outs).to(value.dtype)
