"""Attention for inference: of prompts and of single tokens, over plain and over paged keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from . import operations
from .attention import Call, Sequence, attend, from_bnsd, to_bnsd
from .attention_masks import WITHOUT_END, Masking
from .cache import paged_rows
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .numbers import numbers_of

if TYPE_CHECKING:
    from ...._tensor import Tensor


npu = namespace("npu")
_MASKS = ("bool", "int8", "uint8")
_LAYOUTS = ("BSH", "BSND", "BNSD", "TND", "BNSD_BSND", "BSND_BNSD", "NTD_TND")


def _numbers(lengths: Any, count: int, whole: int, operator: str, name: str) -> list[int]:
    """A length for each sequence: those given (one stands for all), or all of a padded batch."""
    if lengths is None:
        return [whole] * count
    values = numbers_of(lengths, [whole])
    if len(values) == 1:
        values *= count
    require(
        len(values) >= count,
        operator,
        f"{name} must have a number for each of the {count} sequences, but it is {values}",
    )
    return values[:count]


def _paged(operator: str, cache: Any, table: Any, length: int, heads: int) -> Any:
    """The rows of one sequence, or of all that a table (sequences, blocks) names, as (sequences, heads, rows, width)."""
    require(
        (cache.dim() == 4 and cache.shape[1] == heads) or (cache.dim() == 3 and cache.shape[2] % heads == 0),
        operator,
        f"a paged cache must be (blocks, block, heads * width) or (blocks, heads, block, width) of {heads} heads, but its sizes "
        f"are {list(cache.shape)}",
    )
    if cache.dim() == 4:
        cache = cache.transpose(1, 2)
    else:
        cache = cache.view([*cache.shape[:-1], heads, cache.shape[-1] // heads])
    if table.dim() == 1:
        return paged_rows(cache, table, length).transpose(0, 1).unsqueeze(0)
    return _of_all(cache, table, length)


def _of_all(cache: Any, table: Any, length: int) -> Any:
    """The first rows of all sequences of a table, of a cache (blocks, block, heads, width): (sequences, heads, rows, width)."""
    block = cache.shape[1]
    blocks = table[:, : -(-length // block)].to(DTYPES["int64"])
    rows = aten.index_select(cache, 0, blocks.flatten()).reshape(blocks.shape[0], -1, *cache.shape[2:])
    return rows[:, :length].transpose(1, 2)


class _Request:
    """One call: its tensors, and where each sequence lies in them."""

    def __init__(
        self,
        operator: str,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        rope: Any,
        layout: str,
        heads: int,
        key_heads: int,
        q_lengths: Any,
        kv_lengths: Any,
        table: Any,
    ) -> None:
        require_choice(operator, "input_layout", layout, _LAYOUTS)
        for name, x in (("query", query), ("key", key), ("value", value)):
            require_dtype(operator, name, x, HALF_AND_FLOAT)
        require(
            key_heads > 0 and heads % key_heads == 0,
            operator,
            f"num_key_value_heads must divide num_heads, {heads}, but it is {key_heads}",
        )
        self.operator, self.layout, self.heads, self.key_heads = operator, layout, heads, key_heads
        self.inner = {"BNSD_BSND": "BNSD", "BSND_BNSD": "BSND", "NTD_TND": "NTD"}.get(layout, layout)
        self.query, self.key, self.value, self.table = query, key, value, table
        self.query_rope, self.key_rope = rope
        self.packed = self.inner in ("TND", "NTD")
        self.q_lengths, self.kv_lengths = q_lengths, kv_lengths

    def _whole(self, x: Any, heads: int) -> Any:
        return to_bnsd(x, self.inner, heads)

    def _tokens(self) -> int:
        """How many tokens of the query each padded sequence has."""
        return int(self.query.shape[{"SBH": 0, "BNSD": 2}.get(self.inner, 1)])

    def sequences(self) -> list[tuple[Any, Any, Any]]:
        """Query, key and value of each sequence, (1, heads, tokens, width) each."""
        return self._packed() if self.packed else self._padded()

    def _joined(self, x: Any, rope: Any, heads: int) -> Any:
        return x if rope is None else aten.cat([x, rope], -1)

    def _packed(self) -> list[tuple[Any, Any, Any]]:
        def tokens_first(x: Tensor) -> Tensor:
            return x.transpose(0, 1) if self.inner == "NTD" else x

        operator = self.operator
        query = tokens_first(self._joined(self.query, self.query_rope, self.heads))
        require(
            self.q_lengths is not None, operator, "packed layouts take actual_seq_lengths, the ends of the sequences"
        )
        ends = numbers_of(self.q_lengths, [query.shape[0]])
        kv = ends if self.kv_lengths is None else numbers_of(self.kv_lengths, [0] * len(ends))
        require(len(kv) == len(ends), operator, f"there are {len(ends)} ends of queries, but {len(kv)} lengths of keys")
        require(
            ends[-1] == query.shape[0],
            operator,
            f"actual_seq_lengths must end at the {query.shape[0]} tokens, but it is {ends}",
        )
        found = []
        for i, (q0, q1) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            q = query[q0:q1].unsqueeze(0).transpose(1, 2)
            if self.table is None:
                k0, k1 = (kv[i - 1] if i else 0), kv[i]
                k, v = (
                    tokens_first(x)[k0:k1].unsqueeze(0).transpose(1, 2)
                    for x in (self._joined(self.key, self.key_rope, self.key_heads), self.value)
                )
            else:
                k, v = self._pages(self.table[i], kv[i])
            found.append((q, k, v))
        return found

    def _pages(self, table: Any, length: int) -> tuple[Any, Any]:
        k = _paged(self.operator, self.key, table, length, self.key_heads)
        if self.key_rope is not None:
            k = aten.cat([k, _paged(self.operator, self.key_rope, table, length, self.key_heads)], -1)
        return k, _paged(self.operator, self.value, table, length, self.key_heads)

    def _padded(self) -> list[tuple[Any, Any, Any]]:
        query = self._whole(self.query, self.heads)
        if self.query_rope is not None:
            query = aten.cat([query, self._whole(self.query_rope, self.heads)], -1)
        count = query.shape[0]
        # Of sequences of one query there are no lengths to say: CANN reads none.
        given = None if query.shape[2] == 1 else self.q_lengths
        q_lengths = _numbers(given, count, query.shape[2], self.operator, "actual_seq_lengths")
        if self.table is None:
            key, value = self._whole(self.key, self.key_heads), self._whole(self.value, self.key_heads)
            if self.key_rope is not None:
                key = aten.cat([key, self._whole(self.key_rope, self.key_heads)], -1)
            longest = key.shape[2]
        else:
            require(self.kv_lengths is not None, self.operator, "a paged cache takes actual_seq_lengths_kv")
            longest = 0
        kv_lengths = _numbers(self.kv_lengths, count, longest, self.operator, "actual_seq_lengths_kv")
        found = []
        if len({*q_lengths}) == len({*kv_lengths}) == 1:  # the batch is one
            if self.table is None:
                k, v = (x[:, :, : kv_lengths[0]] for x in (key, value))
            else:
                k, v = self._pages(self.table[:count], kv_lengths[0])
            return [(query[:, :, : q_lengths[0]], k, v)]
        for i in range(count):
            if self.table is None:
                k, v = (x[i : i + 1, :, : kv_lengths[i]] for x in (key, value))
            else:
                k, v = self._pages(self.table[i], kv_lengths[i])
            found.append((query[i : i + 1, :, : q_lengths[i]], k, v))
        return found

    def _padded_to(self, parts: list, tokens: int) -> Any:
        """Parts of sequences made one, each with zeros behind its last token."""
        found = [
            x if x.shape[2] == tokens else aten.constant_pad_nd(x, [0, 0, 0, tokens - x.shape[2]], 0.0) for x in parts
        ]
        return found[0] if len(found) == 1 else aten.cat(found, 0)

    def result(self, outs: list) -> Any:
        """The attentions in the layout of the call."""
        if self.packed:
            return aten.cat([o.squeeze(0).transpose(0, 1) for o in outs], 0)
        outer = {"BNSD_BSND": "BSND", "BSND_BNSD": "BNSD"}.get(self.layout, self.layout)
        return from_bnsd(self._padded_to(outs, self._tokens()), outer)

    def logs(self, logs: list) -> Any:
        """The logarithms of the sums: (sequences, heads, tokens, 1), of packed ones (tokens, heads, 1)."""
        if self.packed:
            return aten.cat([x.squeeze(0).transpose(0, 1) for x in logs], 0)
        return self._padded_to(logs, self._tokens())


def _infer(request, pse, mask, scale, before, after, mode, sink, with_logs) -> tuple:
    operator = request.operator
    require_choice(operator, "sparse_mode", mode, (0, 1, 2, 3, 4))
    outs, logs = [], []
    parts = request.sequences()
    for i, (q, k, v) in enumerate(parts):
        count = len(parts) * q.shape[0]
        rows = slice(i, i + q.shape[0])
        own = mask if mask is None or mask.dim() < 3 or mode > 1 else _of_sequences(mask, rows, count)
        masking = Masking.of(operator, own, mode, before, after, None, None, None, "BNSD", _MASKS)
        masking = masking._replace(mask=_cut(own, mode, q, k))
        call = Call(operator, request.heads, "BNSD", scale, 1.0, masking, False, 0, 0)
        shift = None if pse is None else (pse[rows] if pse.shape[0] > 1 else pse)[..., : q.shape[2], : k.shape[2]]
        out, top, total = attend(call, Sequence(q, k, v, shift, -1, None), sink)
        outs.append(out.to(request.query.dtype))
        if with_logs:  # a row of which nothing is attended to has no sum
            logs.append(aten.where(total == 0, float("inf"), top + aten.log(aten.where(total == 0, 1, total))))
    out = request.result(outs)
    lse = request.logs(logs) if with_logs else aten.empty([0], dtype=DTYPES["float32"], device=out.device)
    return aten.contiguous(out), wide(lse)


def _of_sequences(mask: Any, rows: slice, count: int) -> Any:
    """The masks of some sequences of a batch as (1 or these, 1 or heads, queries, keys)."""
    whole = mask.unsqueeze(1) if mask.dim() == 3 else mask
    return whole[rows] if whole.shape[0] == count else whole[:1]


def _cut(mask: Any, mode: int, q: Any, k: Any) -> Any:
    """A mask of the caller's without what lies beyond a sequence's own length."""
    if mask is None or mode > 1:
        return mask
    rows = mask if mask.shape[-2] > 1 else mask.expand([-1] * (mask.dim() - 2) + [q.shape[2], -1])
    return rows[..., : q.shape[2], : k.shape[2]]


_REFUSED = (
    "dequant_scale1", "quant_scale1", "dequant_scale2", "quant_scale2", "quant_offset2", "antiquant_scale",
    "antiquant_offset", "key_antiquant_scale", "key_antiquant_offset", "value_antiquant_scale", "value_antiquant_offset",
    "query_padding_size", "kv_padding_size", "key_shared_prefix", "value_shared_prefix", "actual_shared_prefix_len",
    "key_rope_antiquant_scale",
)  # fmt: skip


@composite(
    "npu::npu_fused_infer_attention_score(Tensor query, Tensor key, Tensor value, *, Tensor? pse_shift=None, "
    "Tensor? atten_mask=None, SymInt[]? actual_seq_lengths=None, SymInt[]? actual_seq_lengths_kv=None, "
    "Tensor? dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? quant_scale2=None, "
    "Tensor? quant_offset2=None, Tensor? antiquant_scale=None, Tensor? antiquant_offset=None, "
    "Tensor? key_antiquant_scale=None, Tensor? key_antiquant_offset=None, Tensor? value_antiquant_scale=None, "
    "Tensor? value_antiquant_offset=None, Tensor? block_table=None, Tensor? query_padding_size=None, "
    "Tensor? kv_padding_size=None, Tensor? key_shared_prefix=None, Tensor? value_shared_prefix=None, "
    "SymInt[]? actual_shared_prefix_len=None, Tensor? query_rope=None, Tensor? key_rope=None, "
    "Tensor? key_rope_antiquant_scale=None, int num_heads=1, float scale=1.0, int pre_tokens=2147483647, "
    'int next_tokens=2147483647, str input_layout="BSH", int num_key_value_heads=0, int sparse_mode=0, '
    "int inner_precise=0, int block_size=0, int antiquant_mode=0, int key_antiquant_mode=0, int value_antiquant_mode=0, "
    "bool softmax_lse_flag=False) -> (Tensor, Tensor)",
    "Attention of prompts and single tokens over plain or paged keys; the logarithms of the sums where asked for.",
    explicit=True,
    flops=operations.of_inference,
    grad=no_gradient("npu_fused_infer_attention_score", "query", "key", "value"),
    samples=[S(T(2, 3, 8), T(2, 5, 8), T(2, 5, 8), num_heads=2, scale=0.5)],
)
def npu_fused_infer_attention_score(
    query: Any, key: Any, value: Any, *, pse_shift: Any = None, atten_mask: Any = None,
    actual_seq_lengths: Any = None, actual_seq_lengths_kv: Any = None, block_table: Any = None,
    query_rope: Any = None, key_rope: Any = None, num_heads: int = 1, scale: float = 1.0,
    pre_tokens: int = WITHOUT_END, next_tokens: int = WITHOUT_END, input_layout: str = "BSH",
    num_key_value_heads: int = 0, sparse_mode: int = 0, inner_precise: int = 0, block_size: int = 0,
    antiquant_mode: int = 0, key_antiquant_mode: int = 0, value_antiquant_mode: int = 0,
    softmax_lse_flag: bool = False, **quantised: Any,
) -> Any:  # fmt: skip
    operator = "npu_fused_infer_attention_score"
    require_absent(operator, **{name: quantised.get(name) for name in _REFUSED})
    request = _Request(
        operator, query, key, value, (query_rope, key_rope), input_layout, num_heads, num_key_value_heads or num_heads,
        actual_seq_lengths, actual_seq_lengths_kv, block_table,
    )  # fmt: skip
    return _infer(request, pse_shift, atten_mask, scale, pre_tokens, next_tokens, sparse_mode, None, softmax_lse_flag)


_REFUSED_V2 = (
    "dequant_scale_query", "dequant_scale_key", "dequant_offset_key", "dequant_scale_value", "dequant_offset_value",
    "dequant_scale_key_rope", "quant_scale_out", "quant_offset_out", "quant_scale_p", "query_dtype", "key_dtype",
    "value_dtype", "query_rope_dtype", "key_rope_dtype", "key_shared_prefix_dtype", "value_shared_prefix_dtype",
    "dequant_scale_query_dtype", "dequant_scale_key_dtype", "dequant_scale_value_dtype", "dequant_scale_key_rope_dtype",
    "out_dtype",
)  # fmt: skip


@composite(
    "npu::npu_fused_infer_attention_score_v2(Tensor query, Tensor key, Tensor value, *, Tensor? query_rope=None, "
    "Tensor? key_rope=None, Tensor? pse_shift=None, Tensor? atten_mask=None, SymInt[]? actual_seq_qlen=None, "
    "SymInt[]? actual_seq_kvlen=None, Tensor? block_table=None, Tensor? dequant_scale_query=None, "
    "Tensor? dequant_scale_key=None, Tensor? dequant_offset_key=None, Tensor? dequant_scale_value=None, "
    "Tensor? dequant_offset_value=None, Tensor? dequant_scale_key_rope=None, Tensor? quant_scale_out=None, "
    "Tensor? quant_offset_out=None, Tensor? quant_scale_p=None, Tensor? learnable_sink=None, int num_query_heads=1, "
    "int num_key_value_heads=0, float softmax_scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, "
    'str input_layout="BSH", int sparse_mode=0, int block_size=0, int query_quant_mode=0, int key_quant_mode=0, '
    "int value_quant_mode=0, int inner_precise=0, bool return_softmax_lse=False, int? query_dtype=None, "
    "int? key_dtype=None, int? value_dtype=None, int? query_rope_dtype=None, int? key_rope_dtype=None, "
    "int? key_shared_prefix_dtype=None, int? value_shared_prefix_dtype=None, int? dequant_scale_query_dtype=None, "
    "int? dequant_scale_key_dtype=None, int? dequant_scale_value_dtype=None, int? dequant_scale_key_rope_dtype=None, "
    "int? out_dtype=None) -> (Tensor, Tensor)",
    "npu_fused_infer_attention_score by its newer names, with a learnable sink.",
    explicit=True,
    flops=operations.of_inference_v2,
    grad=no_gradient("npu_fused_infer_attention_score_v2", "query", "key", "value"),
    samples=[S(T(2, 3, 8), T(2, 5, 8), T(2, 5, 8), num_query_heads=2, softmax_scale=0.5)],
)
def npu_fused_infer_attention_score_v2(
    query: Any, key: Any, value: Any, *, query_rope: Any = None, key_rope: Any = None, pse_shift: Any = None,
    atten_mask: Any = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None, block_table: Any = None,
    learnable_sink: Any = None, num_query_heads: int = 1, num_key_value_heads: int = 0, softmax_scale: float = 1.0,
    pre_tokens: int = WITHOUT_END, next_tokens: int = WITHOUT_END, input_layout: str = "BSH", sparse_mode: int = 0,
    block_size: int = 0, query_quant_mode: int = 0, key_quant_mode: int = 0, value_quant_mode: int = 0,
    inner_precise: int = 0, return_softmax_lse: bool = False, **quantised: Any,
) -> Any:  # fmt: skip
    operator = "npu_fused_infer_attention_score_v2"
    require_absent(operator, **{name: quantised.get(name) for name in _REFUSED_V2})
    request = _Request(
        operator, query, key, value, (query_rope, key_rope), input_layout, num_query_heads,
        num_key_value_heads or num_query_heads, actual_seq_qlen, actual_seq_kvlen, block_table,
    )  # fmt: skip
    return _infer(
        request, pse_shift, atten_mask, softmax_scale, pre_tokens, next_tokens, sparse_mode, learnable_sink,
        return_softmax_lse,
    )  # fmt: skip


@composite(
    "npu::npu_prompt_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, "
    "Tensor? atten_mask=None, Tensor? pse_shift=None, int[]? actual_seq_lengths=None, Tensor? deq_scale1=None, "
    "Tensor? quant_scale1=None, Tensor? deq_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, "
    'int num_heads=1, float scale_value=1.0, int pre_tokens=2147483647, int next_tokens=0, str input_layout="BSH", '
    "int num_key_value_heads=0, int[]? actual_seq_lengths_kv=None, int sparse_mode=0) -> Tensor",
    "Attention of prompts.",
    explicit=True,
    flops=operations.of_inference,
    grad=no_gradient("npu_prompt_flash_attention", "query", "key", "value"),
    samples=[S(T(2, 3, 8), T(2, 5, 8), T(2, 5, 8), num_heads=2, scale_value=0.5)],
)
def npu_prompt_flash_attention(
    query: Any, key: Any, value: Any, *, padding_mask: Any = None, atten_mask: Any = None, pse_shift: Any = None,
    actual_seq_lengths: Any = None, deq_scale1: Any = None, quant_scale1: Any = None, deq_scale2: Any = None,
    quant_scale2: Any = None, quant_offset2: Any = None, num_heads: int = 1, scale_value: float = 1.0,
    pre_tokens: int = WITHOUT_END, next_tokens: int = 0, input_layout: str = "BSH", num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Any = None, sparse_mode: int = 0,
) -> Any:  # fmt: skip
    operator = "npu_prompt_flash_attention"
    require_absent(
        operator, padding_mask=padding_mask, deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2,
        quant_scale2=quant_scale2, quant_offset2=quant_offset2,
    )  # fmt: skip
    request = _Request(
        operator, query, key, value, (None, None), input_layout, num_heads, num_key_value_heads or num_heads,
        actual_seq_lengths, actual_seq_lengths_kv, None,
    )  # fmt: skip
    return _infer(request, pse_shift, atten_mask, scale_value, pre_tokens, next_tokens, sparse_mode, None, False)[0]


@composite(
    "npu::npu_incre_flash_attention(Tensor query, Tensor key, Tensor value, *, Tensor? padding_mask=None, "
    "Tensor? atten_mask=None, Tensor? pse_shift=None, SymInt[]? actual_seq_lengths=None, Tensor? antiquant_scale=None, "
    "Tensor? antiquant_offset=None, Tensor? block_table=None, Tensor? dequant_scale1=None, Tensor? quant_scale1=None, "
    "Tensor? dequant_scale2=None, Tensor? quant_scale2=None, Tensor? quant_offset2=None, Tensor? kv_padding_size=None, "
    'int num_heads=1, float scale_value=1.0, str input_layout="BSH", int num_key_value_heads=0, int block_size=0, '
    "int inner_precise=1) -> Tensor",
    "Attention of one token a sequence.",
    explicit=True,
    flops=operations.of_single_tokens,
    grad=no_gradient("npu_incre_flash_attention", "query", "key", "value"),
    samples=[S(T(2, 1, 8), T(2, 5, 8), T(2, 5, 8), num_heads=2, scale_value=0.5)],
)
def npu_incre_flash_attention(
    query: Any, key: Any, value: Any, *, padding_mask: Any = None, atten_mask: Any = None, pse_shift: Any = None,
    actual_seq_lengths: Any = None, block_table: Any = None, num_heads: int = 1, scale_value: float = 1.0,
    input_layout: str = "BSH", num_key_value_heads: int = 0, block_size: int = 0, inner_precise: int = 1,
    **quantised: Any,
) -> Any:  # fmt: skip
    operator = "npu_incre_flash_attention"
    require_absent(operator, padding_mask=padding_mask, **quantised)
    request = _Request(
        operator, query, key, value, (None, None), input_layout, num_heads, num_key_value_heads or num_heads, None,
        actual_seq_lengths, block_table,
    )  # fmt: skip
    return _infer(request, pse_shift, atten_mask, scale_value, WITHOUT_END, WITHOUT_END, 0, None, False)[0]


# ---- of the ATB library: they write their result ----


@composite(
    "atb::_npu_paged_attention(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, int num_heads, "
    "float scale_value, Tensor block_table, Tensor context_lens, Tensor(a!) out, *, Tensor? workspace=None) -> ()",
    "Single tokens over paged caches, written to `out`.",
    explicit=True,
    devices={"context_lens": "host"},
)
def _npu_paged_attention(
    query: Any, key_cache: Any, value_cache: Any, num_kv_heads: int, num_heads: int, scale_value: float,
    block_table: Any, context_lens: Any, out: Any, *, workspace: Any = None,
) -> None:  # fmt: skip
    everything = Masking("_npu_paged_attention", None, 0, WITHOUT_END, WITHOUT_END, None, None, None)
    call = Call("_npu_paged_attention", num_heads, "BNSD", scale_value, 1.0, everything, False, 0, 0)
    lengths = numbers_of(context_lens, [])
    if lengths and len({*lengths}) == 1:  # the batch is one
        table = block_table[: len(lengths)]
        k, v = (_of_all(cache, table, lengths[0]) for cache in (key_cache, value_cache))
        q = query[: len(lengths)].reshape(len(lengths), num_heads, 1, -1)
        made = attend(call, Sequence(q, k, v, None, -1, None))[0]
        aten.copy_(out[: len(lengths)], made.reshape(out[: len(lengths)].shape))
        return
    for i, length in enumerate(lengths):
        k, v = (
            paged_rows(cache, block_table[i], length).transpose(0, 1).unsqueeze(0) for cache in (key_cache, value_cache)
        )
        q = query[i].reshape(1, num_heads, 1, -1)
        aten.copy_(out[i], attend(call, Sequence(q, k, v, None, -1, None))[0].reshape(out[i].shape))


@composite(
    "atb::_npu_flash_attention(Tensor query, Tensor key, Tensor value, Tensor mask, Tensor seq_len, float scale_value, "
    "int num_heads, int num_kv_heads, Tensor(a!) out) -> ()",
    "Packed prompts with an additive mask, written to `out`.",
    explicit=True,
    devices={"seq_len": "host"},
)
def _npu_flash_attention(
    query: Any, key: Any, value: Any, mask: Any, seq_len: Any, scale_value: float, num_heads: int, num_kv_heads: int,
    out: Any,
) -> None:  # fmt: skip
    everything = Masking("_npu_flash_attention", None, 0, WITHOUT_END, WITHOUT_END, None, None, None)
    call = Call("_npu_flash_attention", num_heads, "BNSD", scale_value, 1.0, everything, False, 0, 0)
    start = 0
    for length in numbers_of(seq_len, []):
        rows = slice(start, start + length)
        q, k, v = (x[rows].unsqueeze(0).transpose(1, 2) for x in (query, key, value))
        shift = mask[..., :length, :length].reshape(1, 1, length, length)
        made = attend(call, Sequence(q, k, v, shift, -1, None))[0].squeeze(0).transpose(0, 1)
        aten.copy_(out[rows], made.reshape(out[rows].shape))
        start += length
