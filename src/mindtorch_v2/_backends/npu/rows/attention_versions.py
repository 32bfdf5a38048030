"""Fused attention for training by its later signatures, and the mask of its dropout."""

from __future__ import annotations

from typing import Any

from ...._C import TensorBase as Tensor
from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from ..table import is_capturing
from . import operations
from .attention import Call, _drawn, _numbers, backward, drawn_tensors, forward
from .attention_dropout import drawn_below
from .attention_masks import Masking
from .checks import composite, no_gradient, require, require_absent, require_choice
from .numbers import numbers_of

npu = namespace("npu")
_WITH_HEADS = ("BSND", "BNSD", "TND")


def _call(
    operator, head_num, layout, scale, keep_prob, atten_mask, sparse_mode, before, after, prefix, q_ends, kv_ends, pse_type,
    seed, offset,
) -> Call:  # fmt: skip
    require_choice(operator, "pse_type", pse_type, (0, 1))
    masking = Masking.of(operator, atten_mask, sparse_mode, before, after, prefix, q_ends, kv_ends, layout)
    return Call(operator, head_num, layout, scale, keep_prob, masking, pse_type == 1, seed, offset)


def _joined(operator, layout, x, rope):
    """The two parts of each head's width in one."""
    if rope is None:
        return x
    require_choice(operator, "input_layout beside query_rope and key_rope", layout, _WITH_HEADS)
    return aten.cat([x, rope], -1)


def _cut(gradient, x, rope) -> tuple:
    """The gradient of `_joined` by its parts."""
    if rope is None:
        return gradient, aten.empty([0], dtype=gradient.dtype, device=gradient.device)
    width = x.shape[-1]
    return aten.contiguous(gradient[..., :width]), aten.contiguous(gradient[..., width:])


def _gradients_v2(
    grad, query, key, value, head_num, input_layout, pse, padding_mask, atten_mask, query_rope, key_rope, scale, keep_prob,
    pre_tokens, next_tokens, inner_precise, prefix, actual_seq_qlen, actual_seq_kvlen, sparse_mode, pse_type, sink,
    dropout_mask, result0, result1, result2, result4, result5,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention_v2"
    call = _call(
        operator, head_num, input_layout, scale, keep_prob, atten_mask, sparse_mode, pre_tokens, next_tokens, prefix,
        actual_seq_qlen, actual_seq_kvlen, pse_type, result4, result5,
    )  # fmt: skip
    q, k = _joined(operator, input_layout, query, query_rope), _joined(operator, input_layout, key, key_rope)
    statistics = (result1, result2, result0)
    dq, dk, dv, dpse, dsink = backward(call, q, k, value, grad, pse, sink, statistics, dropout_mask)
    (dq, dq_rope), (dk, dk_rope) = _cut(dq, query, query_rope), _cut(dk, key, key_rope)
    rest = ((pse, dpse), (query_rope, dq_rope), (key_rope, dk_rope), (sink, dsink))
    return dq, dk, dv, *(gradient if argument is not None else None for argument, gradient in rest)


@composite(
    "npu::npu_fusion_attention_v2(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, *, Tensor? "
    "pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? query_rope=None, Tensor? key_rope=None, "
    "float scale=1., float keep_prob=1., int pre_tokens=2147483647, int next_tokens=2147483647, int inner_precise=0, "
    "int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool "
    "gen_mask_parallel=True, bool sync=False, int pse_type=1, int[]? q_start_idx=None, int[]? kv_start_idx=None, str "
    'softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, int seed=0, int offset=0) -> (Tensor, Tensor, '
    "Tensor, Tensor, int, int, int)",
    "npu_fusion_attention whose heads may come in two parts of their width, and whose position shift may be added "
    "after the scale (pse_type 0) or before it (1).",
    explicit=True,
    flops=operations.of_training,
    grad={("query", "key", "value", "pse", "query_rope", "key_rope", "sink"): _gradients_v2},
    nondiff=(1, 2, 3),
    samples=[
        S(T(2, 2, 5, 4), T(2, 2, 5, 4), T(2, 2, 5, 4), 2, "BNSD", pse=T(2, 2, 5, 5), scale=0.7, pse_type=0),
        S(
            T(7, 2, 4),
            T(9, 2, 4),
            T(9, 2, 4),
            2,
            "TND",
            query_rope=T(7, 2, 2),
            key_rope=T(9, 2, 2),
            actual_seq_qlen=[3, 7],
            actual_seq_kvlen=[4, 9],
        ),
    ],
)
def npu_fusion_attention_v2(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, *, pse: Any = None, padding_mask: Any = None,
    atten_mask: Any = None, query_rope: Any = None, key_rope: Any = None, scale: float = 1.0, keep_prob: float = 1.0,
    pre_tokens: int = 2147483647, next_tokens: int = 2147483647, inner_precise: int = 0, prefix: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True,
    sync: bool = False, pse_type: int = 1, q_start_idx: Any = None, kv_start_idx: Any = None,
    softmax_layout: str = "", sink: Any = None, dropout_mask: Any = None, seed: int = 0, offset: int = 0,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention_v2"
    require_absent(operator, padding_mask=padding_mask, q_start_idx=q_start_idx, kv_start_idx=kv_start_idx)
    q, k = _joined(operator, input_layout, query, query_rope), _joined(operator, input_layout, key, key_rope)
    call = _call(
        operator, head_num, input_layout, scale, keep_prob, atten_mask, sparse_mode, pre_tokens, next_tokens, prefix,
        actual_seq_qlen, actual_seq_kvlen, pse_type, seed, offset,
    )  # fmt: skip
    seed, offset = _drawn(call, seed, offset, query.device, _numbers(q, k, call))
    call = call._replace(seed=seed, offset=offset)
    out, top, total = forward(call, q, k, value, pse, sink, dropout_mask)
    empty = aten.empty([0], dtype=query.dtype, device=query.device)
    return out, top, total, empty, seed, offset, _numbers(q, k, call) if keep_prob < 1 else 0


@composite(
    "npu::npu_fusion_attention_grad_v2(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str "
    "input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? "
    "softmax_max=None, Tensor? softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, Tensor? "
    "query_rope=None, Tensor? key_rope=None, float scale_value=1., float keep_prob=1., int pre_tokens=2147483647, "
    "int next_tokens=2147483647, int inner_precise=0, int seed=0, int offset=0, int numels=0, int[]? prefix=None, "
    "int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool "
    'sync=False, int pse_type=1, int[]? q_start_idx=None, int[]? kv_start_idx=None, str softmax_layout="", Tensor? '
    "sink=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    "Gradients of npu_fusion_attention_v2 by query, key, value, position shift, the second parts of query and key, "
    "and sink.",
    explicit=True,
    flops=operations.of_gradient,
    grad=no_gradient("npu_fusion_attention_grad_v2", "query", "key", "value", "dy"),
)
def npu_fusion_attention_grad_v2(
    query: Any, key: Any, value: Any, dy: Any, head_num: int, input_layout: str, *, pse: Any = None,
    padding_mask: Any = None, atten_mask: Any = None, softmax_max: Any = None, softmax_sum: Any = None,
    softmax_in: Any = None, attention_in: Any = None, query_rope: Any = None, key_rope: Any = None,
    scale_value: float = 1.0, keep_prob: float = 1.0, pre_tokens: int = 2147483647, next_tokens: int = 2147483647,
    inner_precise: int = 0, seed: int = 0, offset: int = 0, numels: int = 0, prefix: Any = None,
    actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True,
    sync: bool = False, pse_type: int = 1, q_start_idx: Any = None, kv_start_idx: Any = None,
    softmax_layout: str = "", sink: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention_grad_v2"
    require_absent(operator, padding_mask=padding_mask, q_start_idx=q_start_idx, kv_start_idx=kv_start_idx)
    for name, x in (("softmax_max", softmax_max), ("softmax_sum", softmax_sum), ("attention_in", attention_in)):
        require(x is not None, operator, f"{name} is needed")
    call = _call(
        operator, head_num, input_layout, scale_value, keep_prob, atten_mask, sparse_mode, pre_tokens, next_tokens, prefix,
        actual_seq_qlen, actual_seq_kvlen, pse_type, seed, offset,
    )  # fmt: skip
    q, k = _joined(operator, input_layout, query, query_rope), _joined(operator, input_layout, key, key_rope)
    dq, dk, dv, dpse, dsink = backward(call, q, k, value, dy, pse, sink, (softmax_max, softmax_sum, attention_in))
    (dq, dq_rope), (dk, dk_rope) = _cut(dq, query, query_rope), _cut(dk, key, key_rope)
    return dq, dk, dv, dpse, dq_rope, dk_rope, dsink


def _whole_numbers(values, packed):
    """The ends of packed sequences as a list, which they may be already; None for none."""
    return values if values is None or isinstance(values, (list, tuple)) else numbers_of(values, [packed.shape[0]])


def _gradients_v3(
    grad, query, key, value, head_num, input_layout, pse, atten_mask, scale, keep_prob, pre_tockens, next_tockens, prefix,
    actual_seq_qlen, actual_seq_kvlen, sparse_mode, sink, result0, result1, result2, result4, result5,
) -> tuple:  # fmt: skip
    call = _call(
        "npu_fusion_attention_v3", head_num, input_layout, scale, keep_prob, atten_mask, sparse_mode, pre_tockens,
        next_tockens, prefix, _whole_numbers(actual_seq_qlen, query), _whole_numbers(actual_seq_kvlen, key), 1, *_drawn_with(result4, result5),
    )  # fmt: skip
    dq, dk, dv, dpse, dsink = backward(call, query, key, value, grad, pse, sink, (result1, result2, result0))
    return dq, dk, dv, dpse if pse is not None else None, dsink if sink is not None else None


def _drawn_with(seed, offset) -> tuple:
    """Seed and offset as numbers, or as they are where a graph is captured; zeros where there was no dropout, whose tensors are empty."""
    if seed is None or seed.numel() == 0:
        return 0, 0
    return (seed, offset) if seed.device.type == "npu" and is_capturing() else (int(seed), int(offset))


@composite(
    "npu::npu_fusion_attention_v3(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? "
    "pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1., int "
    "pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, SymInt[]? prefix=None, Tensor? "
    "actual_seq_qlen=None, Tensor? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool "
    'sync=False, str softmax_layout="", Tensor? sink=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)',
    "npu_fusion_attention with the sequences' ends as tensors; the seed and offset of the dropout are tensors too, "
    "empty without it.",
    explicit=True,
    flops=operations.of_training,
    devices={"actual_seq_qlen": "host", "actual_seq_kvlen": "host"},
    grad={("query", "key", "value", "pse", "sink"): _gradients_v3},
    nondiff=(1, 2, 3, 4, 5),
    samples=[S(T(2, 5, 8), T(2, 6, 8), T(2, 6, 8), 2, "BSH", scale=0.5)],
)
def npu_fusion_attention_v3(
    query: Any, key: Any, value: Any, head_num: int, input_layout: str, pse: Any = None, padding_mask: Any = None,
    atten_mask: Any = None, scale: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = 2147483647,
    next_tockens: int = 2147483647, inner_precise: int = 0, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False,
    softmax_layout: str = "", sink: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention_v3"
    require_absent(operator, padding_mask=padding_mask)
    call = _call(
        operator, head_num, input_layout, scale, keep_prob, atten_mask, sparse_mode, pre_tockens, next_tockens, prefix,
        _whole_numbers(actual_seq_qlen, query), _whole_numbers(actual_seq_kvlen, key), 1, 0, 0,
    )  # fmt: skip
    seed, offset = drawn_tensors(call, query.device, _numbers(query, key, call))
    out, top, total = forward(call._replace(seed=seed, offset=offset), query, key, value, pse, sink, None)
    empty = aten.empty([0], dtype=query.dtype, device=query.device)
    if not isinstance(seed, Tensor):
        count = [1 if keep_prob < 1 else 0]
        seed, offset = (
            aten.full(count, number, dtype=DTYPES["int64"], device=query.device) for number in (seed, offset)
        )
    return out, top, total, empty, seed, offset


@composite(
    "npu::npu_fusion_attention_grad_v3(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str "
    "input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? "
    "softmax_max=None, Tensor? softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, float "
    "scale_value=1., float keep_prob=1., int pre_tockens=2147483647, int next_tockens=2147483647, int "
    "inner_precise=0, Tensor? seed=None, Tensor? offset=None, SymInt[]? prefix=None, Tensor? actual_seq_qlen=None, "
    "Tensor? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, str "
    'softmax_layout="", Tensor? sink=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor)',
    "Gradients of npu_fusion_attention_v3 by query, key, value, position shift and sink, from its statistics.",
    explicit=True,
    flops=operations.of_gradient,
    devices={"seed": "host", "offset": "host", "actual_seq_qlen": "host", "actual_seq_kvlen": "host"},
    grad=no_gradient("npu_fusion_attention_grad_v3", "query", "key", "value", "dy"),
)
def npu_fusion_attention_grad_v3(
    query: Any, key: Any, value: Any, dy: Any, head_num: int, input_layout: str, *, pse: Any = None,
    padding_mask: Any = None, atten_mask: Any = None, softmax_max: Any = None, softmax_sum: Any = None,
    softmax_in: Any = None, attention_in: Any = None, scale_value: float = 1.0, keep_prob: float = 1.0,
    pre_tockens: int = 2147483647, next_tockens: int = 2147483647, inner_precise: int = 0, seed: Any = None,
    offset: Any = None, prefix: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
    sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, softmax_layout: str = "",
    sink: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_fusion_attention_grad_v3"
    require_absent(operator, padding_mask=padding_mask)
    for name, x in (("softmax_max", softmax_max), ("softmax_sum", softmax_sum), ("attention_in", attention_in)):
        require(x is not None, operator, f"{name} is needed")
    call = _call(
        operator, head_num, input_layout, scale_value, keep_prob, atten_mask, sparse_mode, pre_tockens, next_tockens, prefix,
        _whole_numbers(actual_seq_qlen, query), _whole_numbers(actual_seq_kvlen, key), 1, *_drawn_with(seed, offset),
    )  # fmt: skip
    return backward(call, query, key, value, dy, pse, sink, (softmax_max, softmax_sum, attention_in))


@composite(
    "npu::_npu_dropout_gen_mask.Tensor(Tensor input, int[] size, float p, int seed, int offset, *, bool? "
    "parallel=True, bool? sync=None) -> Tensor",
    "A bit for each of the elements of a size, 1 with the probability 1 - p, eight to a byte, the first in the "
    "lowest; bytes come in sixteens.",
    explicit=True,
    grad=no_gradient("_npu_dropout_gen_mask", "input"),
    tags="nondeterministic_seeded",
)
def npu_dropout_gen_mask(
    input: Any, size: Any, p: float, seed: int, offset: int, *, parallel: Any = True, sync: Any = None,
) -> Any:  # fmt: skip
    operator = "_npu_dropout_gen_mask"
    require(0 <= p <= 1, operator, f"p must be from 0 to 1, but it is {p}")
    count = 1
    for each in size:
        count *= each
    kept = drawn_below(input.device, count, seed, offset, 1 - p)
    padded = aten.constant_pad_nd(kept.to(DTYPES["int32"]), [0, -count % 128], 0)
    places = aten.arange(8, dtype=DTYPES["int32"], device=input.device)
    return (aten.unflatten(padded, 0, [padded.shape[0] // 8, 8]) << places).sum([-1]).to(DTYPES["uint8"])
