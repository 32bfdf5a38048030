"""Fused attention for training: softmax(scale * Q K^T, masked) V with its statistics, and the gradient from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .. import state
from ..table import is_capturing, signed_state
from . import operations
from .attention_dropout import Kept
from .attention_masks import Masking
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide

if TYPE_CHECKING:
    from ...._tensor import Tensor


npu = namespace("npu")
_LAYOUTS = ("BSH", "SBH", "BSND", "BNSD", "TND")
_ROWS = 64  # of scores at once, so that no more than these times the keys are ever held
_EIGHT = 8  # how often the statistics of a row are written


class Call(NamedTuple):
    """Options that a call of the operator says beside its tensors."""

    operator: str
    heads: int
    layout: str
    scale: float
    keep: float
    masking: Masking
    pse_first: bool  # the position shift is added before the scale is applied
    seed: int
    offset: int


def to_bnsd(x: Any, layout: str, heads: int) -> Any:
    """A tensor of any layout but TND as (batch, heads, tokens, width)."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return x.transpose(1, 2)
    batch_first = x if layout == "BSH" else x.transpose(0, 1)
    return batch_first.view([*batch_first.shape[:-1], heads, x.shape[-1] // heads]).transpose(1, 2)


def from_bnsd(x: Any, layout: str) -> Any:
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2)
    if layout == "BSND":
        return aten.contiguous(x)
    x = aten.flatten(x, 2)
    return x if layout == "BSH" else aten.contiguous(x.transpose(0, 1))


def _key_heads(query: Any, key: Any, call: Call) -> int:
    """How many heads the keys have; they may be fewer than the queries' and must divide these."""
    if call.layout in ("BSH", "SBH"):
        width = query.shape[-1] // call.heads
        require(
            query.shape[-1] % call.heads == 0 and key.shape[-1] % width == 0,
            call.operator,
            f"head_num must divide the query's width {query.shape[-1]}, and the width of a head that of the key, "
            f"{key.shape[-1]}; head_num is {call.heads}",
        )
        heads = key.shape[-1] // width
    else:
        place = 1 if call.layout in ("BNSD", "TND") else 2
        require(
            query.shape[place] == call.heads,
            call.operator,
            f"head_num must be the query's number of heads, {query.shape[place]}, but it is {call.heads}",
        )
        heads = key.shape[place]
    require(
        heads > 0 and call.heads % heads == 0,
        call.operator,
        f"the {heads} heads of the key must divide the {call.heads} of the query",
    )
    return heads


def check(call: Call, query: Any, key: Any, value: Any) -> int:
    """Hold the tensors to what the operator's documents allow; returns the keys' number of heads."""
    require_choice(call.operator, "input_layout", call.layout, _LAYOUTS)
    require(call.heads > 0, call.operator, f"head_num must be 1 or more, but it is {call.heads}")
    require(0 < call.keep <= 1, call.operator, f"keep_prob must be above 0 and at most 1, but it is {call.keep}")
    rank = {"BSH": 3, "SBH": 3, "TND": 3}.get(call.layout, 4)
    for name, x in (("query", query), ("key", key), ("value", value)):
        require_dtype(call.operator, name, x, HALF_AND_FLOAT)
        require(
            x.dim() == rank,
            call.operator,
            f"{name} must have {rank} dimensions in layout {call.layout}, but it has {x.dim()}",
        )
        require(
            x.dtype == query.dtype,
            call.operator,
            f"{name} is {x.dtype}, but query is {query.dtype}: they must be alike",
        )
    return _key_heads(query, key, call)


class Sequence(NamedTuple):
    """One run of queries against one run of keys: (batch, heads, tokens, width), keys' heads fewer than or as many."""

    query: Any
    key: Any
    value: Any
    pse: Any
    number: int  # of the sequence within the batch of a packed call; -1 where all of a batch are in one
    kept: Kept | None  # which probabilities survive the dropout; None without it


def _spread(x: Any, heads: int) -> Any:
    """Heads repeated so that there is one a query head."""
    return x if x.shape[1] == heads else aten.repeat_interleave(x, heads // x.shape[1], 1)


def _gathered(x: Any, heads: int) -> Any:
    """The transpose of `_spread`: gradients of repeated heads summed."""
    return x if x.shape[1] == heads else aten.unflatten(x, 1, [heads, x.shape[1] // heads]).sum([2])


def _sequences(
    call: Call, query: Any, key: Any, value: Any, pse: Any, key_heads: int, dropout_mask: Any
) -> list[Sequence]:
    kept = None
    if call.keep < 1:
        kept = Kept.of(query.device, _numbers(query, key, call), call.seed, call.offset, call.keep, dropout_mask)
    if call.layout != "TND":
        to = call.layout
        q, k, v = to_bnsd(query, to, call.heads), to_bnsd(key, to, key_heads), to_bnsd(value, to, key_heads)
        return [Sequence(q, k, v, pse, -1, kept and kept._replace(sizes=(*q.shape[:3], k.shape[-2])))]
    made, start = [], 0
    for number, (q0, q1, k0, k1) in enumerate(call.masking.packed(query.shape[0], key.shape[0])):
        of = tuple(x.unsqueeze(0).transpose(1, 2) for x in (query[q0:q1], key[k0:k1], value[k0:k1]))
        own = kept and kept._replace(start=start, sizes=(1, call.heads, q1 - q0, k1 - k0))
        made.append(Sequence(*of, pse, number, own))  # type: ignore[call-arg]  # (a named tuple of this file)
        start += call.heads * (q1 - q0) * (k1 - k0)
    return made


def _scores(call: Call, part: Sequence, key: Any, first: int, last: int, of: tuple[int, int]) -> Any:
    """Scores of queries `first` to `last` for the keys of a range, in the wide type; those left out are minus infinity.

    `key` are all keys in the wide type, one head a query head.
    """
    q, k = wide(part.query[:, :, first:last]), key[:, :, slice(*of)].transpose(-1, -2)
    if part.pse is None:
        s = aten.matmul(q * call.scale, k)
    else:
        shift = wide(part.pse)
        shift = (shift[..., first:last, :] if shift.shape[-2] > 1 else shift)[..., slice(*of)]
        s = (aten.matmul(q, k) + shift) * call.scale if call.pse_first else aten.matmul(q * call.scale, k) + shift
    sizes = part.query.shape[-2], key.shape[-2]
    # Keys that all of these queries see are left alone, but where autograd looks into a composition.
    begin = of[0] if s.requires_grad else max(of[0], min(call.masking.seen_by_all(first, *sizes), of[1]))
    hidden = call.masking.hidden(part.number, first, last, *sizes, s.device, (begin, of[1]))
    if hidden is None or begin == of[1]:
        return s
    if s.requires_grad:
        return aten.masked_fill(s, hidden, float("-inf"))
    aten.masked_fill_(s[..., begin - of[0] :], hidden, float("-inf"))
    return s


def _softmax(scores: Any, sinks: Any) -> tuple[Any, Any, Any]:
    """Numerators, mostly in the place of the scores, the largest score and the sum of each row; one that sees nothing gives zeros."""
    largest = scores.amax([-1], True)
    if sinks is not None:
        largest = aten.maximum(largest, sinks)
    finite = aten.where(largest == float("-inf"), 0, largest)
    if scores.requires_grad:  # of a composition that autograd looks into
        numerators = aten.exp(scores - finite)
    else:
        numerators = aten.exp_(aten.sub_(scores, finite))
    total = numerators.sum([-1], True)
    if sinks is not None:
        total = total + aten.exp(sinks - finite)
    return numerators, finite, total


def _of_heads(sink: Any) -> Any:
    return None if sink is None else wide(sink).reshape(1, -1, 1, 1)


def _one_pass(call: Call, part: Sequence, sink: Any) -> bool | None:
    """Whether a sequence's attention is causal, where the CPU's own kernel can do it; None where it cannot."""
    tensors = part[:3]
    if part.pse is not None or part.kept is not None or sink is not None or part.query.device.type != "cpu":
        return None
    if (_C.is_grad_enabled() and any(x.requires_grad for x in tensors)) or not all(x.numel() for x in tensors):
        return None
    return call.masking.is_causal(part.query.shape[-2], part.key.shape[-2])


def attend(call: Call, part: Sequence, sink: Any = None) -> tuple[Any, Any, Any]:
    """One sequence's attention in the wide type, and the largest score and the sum of each row."""
    causal = _one_pass(call, part, sink)
    if causal is not None:
        q, k, v = (wide(x) for x in part[:3])
        out, *statistics = aten._scaled_dot_product_attention_statistics(q, k, v, causal, scale=call.scale)
        return out, *(x.unsqueeze(-1) for x in statistics)
    k, v = (_spread(wide(x), part.query.shape[1]) for x in (part.key, part.value))
    tokens, found = part.query.shape[-2], []
    for first in range(0, max(tokens, 1), _ROWS):
        last = min(first + _ROWS, tokens)
        of = call.masking.seen(first, last, tokens, k.shape[-2])
        scores = _scores(call, part, k, first, last, of)
        if scores.shape[-1] == 0:
            zeros = aten.zeros([*scores.shape[:3], 1], dtype=scores.dtype, device=scores.device)
            found.append((aten.matmul(scores, v), zeros, zeros))
            continue
        numerators, top, total = _softmax(scores, _of_heads(sink))
        below = aten.where(total == 0, 1, total)
        if part.kept is not None:
            numerators = aten.where(part.kept.rows(first, last, of), numerators, 0)
            below = below * call.keep
        found.append((aten.matmul(numerators, v[:, :, slice(*of)]) / below, top, total))
    return tuple(aten.cat(list(each), 2) if len(each) > 1 else each[0] for each in zip(*found, strict=True))


def forward(call: Call, query: Any, key: Any, value: Any, pse: Any, sink: Any, dropout_mask: Any) -> tuple:
    """The attention, and the largest score and the sum of each row, written eight times."""
    key_heads = check(call, query, key, value)
    parts = _sequences(call, query, key, value, pse, key_heads, dropout_mask)
    outs, tops, sums = zip(*(attend(call, part, sink) for part in parts), strict=True)
    if call.layout == "TND":
        out, top, total = (aten.cat([x.squeeze(0).transpose(0, 1) for x in each], 0) for each in (outs, tops, sums))
    else:
        out, top, total = from_bnsd(outs[0], call.layout), tops[0], sums[0]
    float32 = DTYPES["float32"] if query.dtype != DTYPES["float64"] else query.dtype
    eight = [-1] * (top.dim() - 1) + [_EIGHT]
    return (
        aten.contiguous(out.to(query.dtype)),
        aten.contiguous(top.to(float32).expand(eight)),
        aten.contiguous(total.to(float32).expand(eight)),
    )


def backward(
    call: Call,
    query: Any,
    key: Any,
    value: Any,
    dy: Any,
    pse: Any,
    sink: Any,
    statistics: tuple,
    dropout_mask: Any = None,
) -> tuple:
    """Gradients by query, key, value, position shift and sink."""
    key_heads = check(call, query, key, value)
    top, total, out = statistics
    shift = None if pse is None else aten.zeros(pse.shape, dtype=wide(pse).dtype, device=pse.device)
    of_sink = None if sink is None else aten.zeros(sink.shape, dtype=wide(sink).dtype, device=sink.device)
    made = []
    packed = call.layout == "TND"
    position = 0
    for part in _sequences(call, query, key, value, pse, key_heads, dropout_mask):
        tokens = part.query.shape[-2]
        if packed:
            g, o = (wide(x[position : position + tokens]).unsqueeze(0).transpose(1, 2) for x in (dy, out))
            high, whole = (x[position : position + tokens, :, :1].unsqueeze(0).transpose(1, 2) for x in (top, total))
            position += tokens
        else:
            g, o = (wide(to_bnsd(x, call.layout, call.heads)) for x in (dy, out))
            high, whole = top[..., :1], total[..., :1]
        heads = part.query.shape[1]
        causal = _one_pass(call, part, sink)
        if causal is not None:
            q, k, v = (wide(x) for x in part[:3])
            logs = (high + aten.log(aten.where(whole == 0, 1, whole))).squeeze(-1)
            of_cpu = aten._scaled_dot_product_flash_attention_for_cpu_backward
            made.append(of_cpu(g, q, k, v, o, logs.to(q.dtype), 0.0, causal, scale=call.scale))
            continue
        k, v = _spread(wide(part.key), heads), _spread(wide(part.value), heads)
        dk, dv, dqs = aten.zeros_like(k), aten.zeros_like(v), []
        for first in range(0, tokens, _ROWS):
            rows = slice(first, min(first + _ROWS, tokens))
            of = slice(*call.masking.seen(rows.start, rows.stop, tokens, k.shape[-2]))
            scores = _scores(call, part, k, rows.start, rows.stop, (of.start, of.stop))
            below = aten.where(whole[:, :, rows] == 0, 1, whole[:, :, rows])
            p = aten.exp(scores - high[:, :, rows]) / below
            gr = g[:, :, rows]
            dp = aten.matmul(gr, v[:, :, of].transpose(-1, -2))
            dropped = p
            if part.kept is not None:
                alive = part.kept.rows(rows.start, rows.stop, (of.start, of.stop))
                dropped = aten.where(alive, p / call.keep, 0)
                dp = aten.where(alive, dp / call.keep, 0)
            aten.add_(dv[:, :, of], aten.matmul(dropped.transpose(-1, -2), gr))
            inner = (gr * o[:, :, rows]).sum([-1], True)
            ds = p * (dp - inner)
            if of_sink is not None:
                at_sink = aten.exp(_of_heads(sink) - high[:, :, rows]) / below
                of_sink = of_sink - (at_sink * inner).sum([0, 2, 3]).reshape(sink.shape)
            if shift is not None:
                wanted = (shift[..., rows, :] if shift.shape[-2] > 1 else shift)[..., of]
                by_shift = (ds * call.scale if call.pse_first else ds).sum_to_size(wanted.shape)
                wanted.add_(by_shift)
            dqs.append(aten.matmul(ds, k[:, :, of]) * call.scale)
            aten.add_(dk[:, :, of], aten.matmul(ds.transpose(-1, -2), wide(part.query[:, :, rows]) * call.scale))
        dq = aten.cat(dqs, 2) if dqs else aten.zeros_like(wide(part.query))
        made.append((dq, _gathered(dk, key_heads), _gathered(dv, key_heads)))
    like = (query, key, value)
    if packed:
        gradients = [
            aten.cat([each[i].squeeze(0).transpose(0, 1) for each in made], 0) if made else aten.zeros_like(like[i])
            for i in range(3)
        ]
    else:
        gradients = [from_bnsd(x, call.layout) for x in made[0]]
    dq, dk, dv = (aten.contiguous(x.to(y.dtype)) for x, y in zip(gradients, like, strict=True))
    empty = aten.empty([0], dtype=query.dtype, device=query.device)
    return (
        dq, dk, dv,
        empty if shift is None else shift.to(pse.dtype),
        empty if of_sink is None else of_sink.to(sink.dtype),
    )  # fmt: skip


def _numbers(query: Any, key: Any, call: Call) -> int:
    """How many scores there are, which is how many numbers dropout draws."""
    if call.layout == "TND":
        return sum(
            call.heads * (q1 - q0) * (k1 - k0) for q0, q1, k0, k1 in call.masking.packed(query.shape[0], key.shape[0])
        )
    require_choice(call.operator, "input_layout", call.layout, _LAYOUTS)
    places = {"BSH": (0, 1), "SBH": (1, 0), "BSND": (0, 1), "BNSD": (0, 2)}[call.layout]
    return query.shape[places[0]] * call.heads * query.shape[places[1]] * key.shape[places[1]]


def _drawn(call: Call, seed: int, offset: int, device: Any, count: int) -> tuple[int, int]:
    """Seed and offset of the dropout. With none given they are the device's generator's, which moves on, or drawn on a CPU."""
    if call.keep == 1 or seed or offset:
        return seed, offset
    if device.type != "npu":
        return int(aten.randint(1, 1 << 31, [1]).item()), 0
    require(
        not is_capturing(),
        call.operator,
        "its seed and offset are numbers, so that each replay of a graph would drop the same: capture "
        "npu_fusion_attention_v3, or give dropout_mask",
    )
    return signed_state(state.get().generators[device.index], -(-count // _EIGHT) * _EIGHT)


def drawn_tensors(call: Call, device: Any, count: int) -> tuple:
    """`_drawn` by the device's own generator; while a graph is captured, copies of what each replay reads from device memory."""
    draws = state.get().runtime.thread.draws if device.type == "npu" and call.keep < 1 else None
    if draws is None:
        return _drawn(call, 0, 0, device, count)
    generator = state.get().generators[device.index]
    seed, offset, more = draws.next(generator, -(-count // _EIGHT) * _EIGHT)
    return seed.clone(), offset + more


_COMMON = (
    "Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1., "
    "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, "
)


def _gradients(
    grad, query, key, value, head_num, input_layout, pse, atten_mask, scale, keep_prob, pre_tockens, next_tockens, prefix,
    actual_seq_qlen, actual_seq_kvlen, sparse_mode, sink, dropout_mask, result0, result1, result2, result4, result5,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention"
    once = query.device.type == "npu" or not _C.is_grad_enabled()  # a gradient of the gradient is that of the formulas
    if once and (keep_prob == 1 or dropout_mask is None):
        dq, dk, dv, dpse, dsink = npu.npu_fusion_attention_grad(
            query, key, value, grad, head_num, input_layout, pse=pse, atten_mask=atten_mask, softmax_max=result1,
            softmax_sum=result2, attention_in=result0, scale_value=scale, keep_prob=keep_prob, pre_tockens=pre_tockens,
            next_tockens=next_tockens, seed=result4, offset=result5, prefix=prefix, actual_seq_qlen=actual_seq_qlen,
            actual_seq_kvlen=actual_seq_kvlen, sparse_mode=sparse_mode, sink=sink,
        )  # fmt: skip
        return dq, dk, dv, None if pse is None else dpse, None if sink is None else dsink
    masking = Masking.of(
        operator, atten_mask, sparse_mode, pre_tockens, next_tockens, prefix, actual_seq_qlen, actual_seq_kvlen,
        input_layout,
    )  # fmt: skip
    call = Call(operator, head_num, input_layout, scale, keep_prob, masking, True, result4, result5)
    statistics = (result1, result2, result0)
    dq, dk, dv, dpse, dsink = backward(call, query, key, value, grad, pse, sink, statistics, dropout_mask)
    return dq, dk, dv, None if pse is None else dpse, None if sink is None else dsink


@composite(
    "npu::npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, "
    f"{_COMMON}int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, "
    'bool gen_mask_parallel=True, bool sync=False, str softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, '
    "int seed=0, int offset=0) -> (Tensor, Tensor, Tensor, Tensor, int, int, int)",
    "Attention with masks by modes, grouped heads, packed sequences and dropout: the result, the largest score and the "
    "sum of each row (float32, eight times each), an empty tensor, and the seed, offset and count of the dropout.",
    explicit=True,
    flops=operations.of_training,
    grad={("query", "key", "value", "pse", "sink"): _gradients},
    nondiff=(1, 2, 3),
    samples=[
        S(T(2, 5, 8), T(2, 6, 8), T(2, 6, 8), 2, "BSH", scale=0.5),
        S(T(5, 2, 8), T(6, 2, 4), T(6, 2, 4), 2, "SBH"),
        S(T(2, 4, 5, 4), T(2, 2, 5, 4), T(2, 2, 5, 4), 4, "BNSD", T(2, 4, 5, 5), scale=0.7),
        S(T(7, 2, 4), T(9, 2, 4), T(9, 2, 4), 2, "TND", actual_seq_qlen=[3, 7], actual_seq_kvlen=[4, 9]),
    ],
)  # fmt: skip
def npu_fusion_attention(
    query: Any, key: Any, value: Any, head_num: Any, input_layout: Any, pse: Any = None, padding_mask: Any = None,
    atten_mask: Any = None, scale: Any = 1.0, keep_prob: Any = 1.0, pre_tockens: Any = 2147483647,
    next_tockens: Any = 2147483647, inner_precise: Any = 0, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, sparse_mode: Any = 0, gen_mask_parallel: Any = True, sync: Any = False,
    softmax_layout: Any = "", sink: Any = None, dropout_mask: Any = None, seed: Any = 0, offset: Any = 0,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention"
    require_absent(operator, padding_mask=padding_mask)
    require_choice(operator, "softmax_layout", softmax_layout, ("", "TND") if input_layout == "TND" else ("",))
    masking = Masking.of(
        operator, atten_mask, sparse_mode, pre_tockens, next_tockens, prefix, actual_seq_qlen, actual_seq_kvlen,
        input_layout,
    )  # fmt: skip
    call = Call(operator, head_num, input_layout, scale, keep_prob, masking, True, seed, offset)
    seed, offset = _drawn(call, seed, offset, query.device, _numbers(query, key, call))
    call = call._replace(seed=seed, offset=offset)
    out, top, total = forward(call, query, key, value, pse, sink, dropout_mask)
    empty = aten.empty([0], dtype=query.dtype, device=query.device)
    return out, top, total, empty, seed, offset, _numbers(query, key, call) if keep_prob < 1 else 0


@composite(
    "npu::npu_fusion_attention_grad(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *, "
    "Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, "
    "Tensor? softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, float scale_value=1., "
    "float keep_prob=1., int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int seed=0, "
    "int offset=0, int numels=0, int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, "
    'int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str softmax_layout="", Tensor? sink=None) '
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "Gradients of npu_fusion_attention by query, key, value, position shift and sink, from its statistics.",
    explicit=True,
    flops=operations.of_gradient,
    grad=no_gradient("npu_fusion_attention_grad", "query", "key", "value", "dy"),
)
def npu_fusion_attention_grad(
    query: Any, key: Any, value: Any, dy: Any, head_num: int, input_layout: str, *, pse: Any = None,
    padding_mask: Any = None, atten_mask: Any = None, softmax_max: Any = None, softmax_sum: Any = None,
    softmax_in: Any = None, attention_in: Any = None, scale_value: float = 1.0, keep_prob: float = 1.0,
    pre_tockens: int = 2147483647, next_tockens: int = 2147483647, inner_precise: int = 0, seed: int = 0,
    offset: int = 0, numels: int = 0, prefix: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
    sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, softmax_layout: str = "",
    sink: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_fusion_attention_grad"
    require_absent(operator, padding_mask=padding_mask)
    for name, x in (("softmax_max", softmax_max), ("softmax_sum", softmax_sum), ("attention_in", attention_in)):
        require(x is not None, operator, f"{name} is needed")
    masking = Masking.of(
        operator, atten_mask, sparse_mode, pre_tockens, next_tockens, prefix, actual_seq_qlen, actual_seq_kvlen,
        input_layout,
    )  # fmt: skip
    call = Call(operator, head_num, input_layout, scale_value, keep_prob, masking, True, seed, offset)
    return backward(call, query, key, value, dy, pse, sink, (softmax_max, softmax_sum, attention_in))


@composite(
    "npu::npu_ring_attention_update(Tensor prev_attn_out, Tensor prev_softmax_max, Tensor prev_softmax_sum, "
    "Tensor cur_attn_out, Tensor cur_softmax_max, Tensor cur_softmax_sum, *, Tensor? actual_seq_qlen=None, "
    'str input_layout="SBH", str input_softmax_layout="") -> (Tensor, Tensor, Tensor)',
    "Two partial attentions over other keys made one: the result, the largest score and the sum of each row.",
    explicit=True,
    grad=no_gradient("npu_ring_attention_update", "prev_attn_out", "cur_attn_out"),
)
def npu_ring_attention_update(
    prev_attn_out: Any, prev_softmax_max: Any, prev_softmax_sum: Any, cur_attn_out: Any, cur_softmax_max: Any,
    cur_softmax_sum: Any, *, actual_seq_qlen: Any = None, input_layout: str = "SBH", input_softmax_layout: str = "",
) -> tuple:  # fmt: skip
    operator = "npu_ring_attention_update"
    require_choice(operator, "input_layout", input_layout, ("SBH", "TND"))
    top = aten.maximum(prev_softmax_max, cur_softmax_max)
    before, now = prev_softmax_sum * aten.exp(prev_softmax_max - top), cur_softmax_sum * aten.exp(cur_softmax_max - top)
    total = before + now

    def weighted(x: Any, part: Any) -> Tensor:
        share = (part / total)[..., :1]
        if input_layout == "TND":
            return wide(x) * share
        heads = share.shape[1]
        rows = share.permute([2, 0, 1, 3])  # (B, N, S, 1) beside S, B, N, D
        return (aten.unflatten(wide(x), -1, [heads, x.shape[-1] // heads]) * rows).reshape(x.shape)

    out = weighted(prev_attn_out, before) + weighted(cur_attn_out, now)
    return out.to(prev_attn_out.dtype), top, total


@composite(
    "npu::npu_attention_update(Tensor[] lse, Tensor[] local_out, int update_type) -> (Tensor, Tensor)",
    "Partial attentions of the same rows made one by the logarithms of their sums, which are joined where asked for.",
    explicit=True,
    grad=no_gradient("npu_attention_update", "lse", "local_out"),
)
def npu_attention_update(lse: Any, local_out: Any, update_type: int) -> tuple:
    operator = "npu_attention_update"
    require_choice(operator, "update_type", update_type, (0, 1))
    require(len(lse) == len(local_out) > 0, operator, f"there are {len(lse)} lse for {len(local_out)} local_out")
    logs = aten.stack([wide(x) for x in lse])
    whole = aten.logsumexp(logs, [0])
    shares = aten.exp(logs - whole)
    out = (aten.stack([wide(x) for x in local_out]) * shares.unsqueeze(-1)).sum([0])
    joined = whole if update_type == 1 else aten.empty([0], dtype=whole.dtype, device=whole.device)
    return out.to(local_out[0].dtype), joined
