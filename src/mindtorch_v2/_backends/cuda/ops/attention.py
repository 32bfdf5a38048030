"""Scaled dot product attention and its gradients, in tiles: by tensor cores for elements of 16 bits, else by the ordinary ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import copies, runtime
from ..pointwise import itemsize
from ..table import Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_KINDS = ("", "_backward_queries", "_backward_keys")
_SOURCES = [Source("attention.cuh", f"attend{kind}") for kind in _KINDS]
_BY_TENSOR_CORES = [Source("attention_mma.cuh", f"attend_mma{kind}") for kind in _KINDS]
_FORWARD, _QUERIES, _KEYS = range(3)
_MOST_FEATURES = 256  # of keys or of values, by tensor cores
_MOST_SHARED = 220 << 10


def _aligned(tensor: Tensor) -> bool:
    """Whether every row begins at 16 bytes."""
    return not tensor.data_ptr() % 16 and not any(s % 8 for s in tensor.stride()[:-1])


def _rows(tensor: Tensor, aligned: bool) -> Tensor:
    """The tensor, or a copy whose features lie next to each other, in rows that kernels can load."""
    made = _made(tensor, aligned)
    if made is not tensor:
        copies.copy(made, tensor)
    return made


def _made(tensor: Tensor, aligned: bool) -> Tensor:
    """The tensor, or memory in such rows for what it has or will have."""
    if (tensor.stride(3) == 1 or tensor.shape[3] == 1) and (not aligned or _aligned(tensor)):
        return tensor
    return aten.empty(list(tensor.shape), dtype=tensor.dtype, device=tensor.device)


def _placed(tensor: Tensor | None) -> list[Any]:
    return [0, 0, 0, 0] if tensor is None else [tensor, *tensor.stride()[:3]]


def _tiles(kind: int, d: int, dv: int, most: int) -> tuple[int, int, int] | None:
    """(tiles of 16 rows of a warp, rows of the other side in a step, bytes of shared memory); None where `most` bytes do not do."""
    widest = max(d, dv)
    tiles = 2 if kind == _FORWARD and widest <= 128 else 1
    step = 64 if widest <= (64 if kind == _KEYS else 128) else 32
    wide = sum(blocks(features, 16) * 16 + 8 for features in (d, dv))
    held = blocks(d, 16) * 16 + 8 if kind == _FORWARD else wide
    while True:
        nbytes = 2 * (64 * tiles * held + 2 * step * wide) + (16 * step if kind == _KEYS else 0)
        if nbytes <= most:
            return tiles, step, nbytes
        if step > 16:
            step //= 2
        elif tiles > 1:
            tiles, step = 1, 32
        else:
            return None


class _Call:
    """Attention of some tensors, with what its kernels share."""

    def __init__(
        self,
        inputs: Sequence[Tensor],
        causal: bool,
        attn_mask: Tensor | None,
        scale: float | None,
        p: float = 0.0,
        kept: Tensor | None = None,
    ) -> None:
        query, key, value = inputs
        self.batches, self.heads, self.queries, self.features = query.shape
        self.key_heads, self.keys, self.value_features = key.shape[1], key.shape[2], value.shape[3]
        self.device = query.device.index or 0
        self.in_, self.computed = element(query.dtype), "double" if query.dtype == DTYPES["float64"] else "float"
        self.most = runtime.get().most_shared(self.device)
        widths = self.features, self.value_features
        self.by_tensor_cores = (
            itemsize(self.in_) == 2
            and runtime.get().has_tensor_cores(self.device)
            and not any(width % 8 for width in widths)
            and max(widths) <= _MOST_FEATURES
            and all(_tiles(kind, *widths, self.most) for kind in range(3))
        )
        self.inputs = [_rows(tensor, self.by_tensor_cores) for tensor in inputs]
        self.scale = 1 / math.sqrt(self.features) if scale is None else float(scale)
        self.keep_scale = 1 / (1 - p) if p < 1 else 0.0
        self.kept = None if kept is None else aten.contiguous(kept)
        self.mask = None
        if attn_mask is not None:
            self.mask = attn_mask.expand(self.batches, self.heads, self.queries, self.keys)
        self.words = (
            ("IN", self.in_), ("MASK", self.in_ if self.mask is None else element(self.mask.dtype)), ("D", str(self.features)),
            ("DV", str(self.value_features)), ("CAUSAL", str(int(causal))), ("HAS_MASK", str(int(self.mask is not None))),
            ("DROPOUT", str(int(kept is not None))),
        )  # fmt: skip

    def run(
        self,
        kind: int,
        out: Tensor,
        lse: Tensor,
        grad: Tensor | None = None,
        delta: Tensor | None = None,
        into: Sequence[Tensor | None] = (None, None, None),
    ) -> None:
        """Launch a kernel; results that it could not write in place are made beside them."""
        results = [out] if kind == _FORWARD else list(into)
        written = [None if r is None else _made(r, self.by_tensor_cores) for r in results]
        out_, into_ = (written[0], into) if kind == _FORWARD else (_rows(out, False), written)
        grad = None if grad is None else _rows(grad, self.by_tensor_cores)
        placed = [_placed(tensor) for tensor in self.inputs]
        arguments = pack(
            self.heads, self.key_heads, self.queries, self.keys, self.scale, self.keep_scale, placed, self.mask,
            [0] * 4 if self.mask is None else list(self.mask.stride()), self.kept, _placed(out_), _placed(lse), _placed(grad),
            _placed(delta), [_placed(r) for r in into_],
        )  # fmt: skip
        if self.by_tensor_cores:
            self._by_tensor_cores(kind, arguments)
        else:
            self._by_ordinary_ones(kind, arguments)
        for made, wanted in zip(written, results, strict=True):
            if made is not wanted:
                copies.copy(wanted, made)

    def _grid(self, kind: int, rows: int) -> tuple[int]:
        of_heads = self.key_heads if kind == _KEYS else self.heads
        return (blocks(self.keys if kind == _KEYS else self.queries, rows) * self.batches * of_heads,)

    def _by_tensor_cores(self, kind: int, arguments: bytes) -> None:
        found = _tiles(kind, self.features, self.value_features, self.most)
        assert found is not None
        tiles, step, shared = found
        # A thread has not the registers for the sums of both gradients of long rows.
        parts = (1, 2) if kind == _KEYS and self.features + self.value_features > 256 else (0,)
        for part in parts:
            words = (*self.words, ("TILES", str(tiles)), ("STEP", str(step)), ("PART", str(part)))
            _BY_TENSOR_CORES[kind].launch(self.device, words, self._grid(kind, 64 * tiles), (128,), arguments, shared)

    def _by_ordinary_ones(self, kind: int, arguments: bytes) -> None:
        # What any of the kernels has in shared memory: tiles of 32, tiles of 16, and the weights of 16 times 32, twice.
        shared = (48 * (self.features + self.value_features) + 64 + 1024) * itemsize(self.computed)
        if shared > _MOST_SHARED:
            raise NotImplementedError(
                f"attention on CUDA takes heads of up to about 1000 features in all, and these have {self.features} and "
                f"{self.value_features}. Use torch.nn.attention.sdpa_kernel(SDPBackend.MATH)."
            )
        _SOURCES[kind].launch(self.device, self.words, self._grid(kind, 16), (32, 4), arguments, shared)


@kernel("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool, attn_mask: Tensor | None,
    scale: float | None, out: Tensor, lse: Tensor,
) -> None:  # fmt: skip
    if out.numel():
        _Call((query, key, value), is_causal, attn_mask, scale).run(_FORWARD, out, lse)


@kernel("_scaled_dot_product_attention_dropout")
def attention_with_dropout(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, is_causal: bool, attn_mask: Tensor | None,
    scale: float | None, out: Tensor, lse: Tensor, kept: Tensor,
) -> None:  # fmt: skip
    ones = aten.ones(list(kept.shape), dtype=query.dtype, device=query.device)
    copies.copy(kept, aten.native_dropout(ones, dropout_p, True)[1])
    if out.numel():
        _Call((query, key, value), is_causal, attn_mask, scale, dropout_p, kept).run(_FORWARD, out, lse)


def _backward(call: _Call, grad_out: Tensor, out: Tensor, lse: Tensor, into: tuple[Tensor, Tensor, Tensor]) -> None:
    if not call.inputs[0].numel() or not call.inputs[1].numel():
        for result in into:
            copies.fill(result, 0)
        return
    delta, (by_query, by_key, by_value) = aten.empty_like(lse), into
    call.run(_QUERIES, out, lse, grad_out, delta, (by_query, None, None))
    call.run(_KEYS, out, lse, grad_out, delta, (None, by_key, by_value))


@kernel("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, dropout_p: float,
    is_causal: bool, attn_mask: Tensor | None, scale: float | None, *into: Tensor,
) -> None:  # fmt: skip
    by_query, by_key, by_value = into
    call = _Call((query, key, value), is_causal, attn_mask, scale)
    _backward(call, grad_out, out, logsumexp, (by_query, by_key, by_value))


@kernel("_scaled_dot_product_attention_dropout_backward")
def attention_with_dropout_backward(
    grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, kept: Tensor,
    dropout_p: float, is_causal: bool, attn_mask: Tensor | None, scale: float | None, *into: Tensor,
) -> None:  # fmt: skip
    by_query, by_key, by_value = into
    call = _Call((query, key, value), is_causal, attn_mask, scale, dropout_p, kept)
    _backward(call, grad_out, out, logsumexp, (by_query, by_key, by_value))
