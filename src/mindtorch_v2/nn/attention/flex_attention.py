"""Attention whose scores and mask are functions of the positions.

A mask function `(batch, head, query, key) -> bool` and a score function `(score, batch, head, query, key) -> score` are written
for one pair of positions and mapped over all of them with `vmap`. A `BlockMask` says which blocks of pairs a mask leaves: kernels
that skip blocks read it. The attention here computes every pair and asks the mask function alone, as PyTorch does outside
of `torch.compile`.
"""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import mindtorch_v2 as torch
from mindtorch_v2._core.annotations import read_signature
from mindtorch_v2._core.unavailable import unavailable_function

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "FlexKernelOptions",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128


create_nested_block_mask = unavailable_function("torch.nn.attention.flex_attention.create_nested_block_mask")
_create_empty_block_mask = unavailable_function("torch.nn.attention.flex_attention._create_empty_block_mask")


class FlexKernelOptions(TypedDict, total=False):
    """The options of PyTorch's Triton kernels; there are none here, and nothing is read.

    >>> from mindtorch_v2.nn.attention.flex_attention import FlexKernelOptions, flex_attention
    >>> q = torch.zeros(1, 1, 2, 4)
    >>> flex_attention(q, q, q, kernel_options=FlexKernelOptions()).shape
    torch.Size([1, 1, 2, 4])
    """


class AuxRequest(NamedTuple):
    """Which further outputs of `flex_attention` are wanted.

    >>> from mindtorch_v2.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> q = torch.zeros(1, 1, 2, 4)
    >>> output, aux = flex_attention(q, q, q, return_aux=AuxRequest(max_scores=True))
    >>> aux.max_scores
    tensor([[[0., 0.]]])
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Further outputs of `flex_attention`: None where not asked for.

    >>> from mindtorch_v2.nn.attention.flex_attention import AuxRequest, flex_attention
    >>> q = torch.zeros(1, 1, 2, 4)
    >>> _, aux = flex_attention(q, q, q, return_aux=AuxRequest(lse=True))
    >>> aux.lse, aux.max_scores
    (tensor([[[0.6931, 0.6931]]]), None)
    """

    lse: Any = None
    max_scores: Any = None


# ---- mask functions ----


def noop_mask(batch: torch.Tensor, head: torch.Tensor, token_q: torch.Tensor, token_kv: torch.Tensor) -> torch.Tensor:
    """The mask function that masks nothing.

    >>> from mindtorch_v2.nn.attention.flex_attention import create_mask, noop_mask
    >>> create_mask(noop_mask, 1, 1, 2, 2, device="cpu")[0, 0]
    tensor([[True, True],
            [True, True]])
    """
    return batch.new_ones(size=(), dtype=torch.bool, device=batch.device)


def or_masks(*mask_mods: Any) -> Callable[..., Any]:
    """The mask function that lets through what any of the given ones does.

    >>> from mindtorch_v2.nn.attention.flex_attention import create_mask, or_masks
    >>> diagonal_or_first = or_masks(lambda b, h, q, kv: q == kv, lambda b, h, q, kv: kv == 0)
    >>> create_mask(diagonal_or_first, 1, 1, 3, 3, device="cpu")[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [1, 0, 1]], dtype=torch.int32)
    """
    if not all(callable(arg) for arg in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def or_mask(b: torch.Tensor, h: torch.Tensor, q_idx: torch.Tensor, kv_idx: torch.Tensor) -> torch.Tensor:
        result = b.new_zeros((), dtype=torch.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: Any) -> Callable[..., Any]:
    """The mask function that lets through what all of the given ones do.

    >>> from mindtorch_v2.nn.attention.flex_attention import and_masks, create_mask
    >>> near_past = and_masks(lambda b, h, q, kv: q >= kv, lambda b, h, q, kv: q - kv < 2)
    >>> create_mask(near_past, 1, 1, 3, 3, device="cpu")[0, 0].int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """
    if not all(callable(arg) for arg in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def and_mask(b: torch.Tensor, h: torch.Tensor, q_idx: torch.Tensor, kv_idx: torch.Tensor) -> torch.Tensor:
        result = b.new_ones((), dtype=torch.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _sliced_mask_mod(batch, head, token_q, token_kv):
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")


def _over_all_pairs(function, leading):
    """`function` of `leading` elements of (B, H, Q, KV) tensors and of b, h, q, kv, for each pair of positions."""
    for place in (3, 2, 1, 0):
        own = [0 if i == place else None for i in range(4)]
        function = torch.vmap(function, in_dims=(*[0] * leading, *own))
    return function


def _positions(shape, device) -> list:
    return [torch.arange(n, device=device) for n in shape]


def _takes_score(mod_fn) -> bool:
    """Whether a function is one of scores (five arguments) rather than of masks (four)."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = read_signature(mod_fn).parameters.values()
    count = sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)
    if count not in (4, 5):
        raise AssertionError(f"Expected 4 or 5 positional args, got {count}")
    return count == 5


def create_mask(
    mod_fn: Callable[..., Any], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Device | None = None
) -> torch.Tensor:
    """The mask `(B, H, Q_LEN, KV_LEN)` of a mask function, or of what a score function leaves above -inf.

    B and H None count as 1.

    >>> create_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 3)
    tensor([[[[ True, False, False],
              [ True,  True, False]]]])
    """
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    with torch.no_grad():
        if _takes_score(mod_fn):
            zeros = torch.zeros(shape, device=device)
            return ~torch.isneginf(_over_all_pairs(mod_fn, 1)(zeros, *_positions(shape, device)))
        return _over_all_pairs(mod_fn, 0)(*_positions(shape, device)).expand(shape)


# ---- block masks ----


def _ordered(dense) -> tuple:
    """For each row of blocks how many are there, and the columns, those that are there first."""
    dense = dense.to(torch.int32)
    columns = torch.argsort(dense, dim=-1, descending=True, stable=True)
    return dense.sum(-1).to(torch.int32), columns.to(torch.int32).contiguous()


def _dense(num_blocks, indices) -> torch.Tensor:
    """The reverse of `_ordered`: 1 where there is a block."""
    columns = indices.shape[-1]
    here = torch.arange(columns, device=indices.device) < num_blocks.unsqueeze(-1)
    return torch.zeros_like(indices, dtype=torch.int32).scatter(-1, indices.long(), here.to(torch.int32))


def _check_blocks(
    kv_indices: torch.Tensor, full_kv_num_blocks: torch.Tensor | None, full_kv_indices: torch.Tensor | None
) -> None:
    if kv_indices.dim() < 2:
        raise RuntimeError("BlockMask must have at least 2 dimensions")
    if (full_kv_num_blocks is None) != (full_kv_indices is None):
        raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")


class BlockMask:
    """Which blocks of query and key positions a mask leaves, made by `create_block_mask`.

    `kv_num_blocks` (B, H, rows) counts the blocks of each row that the mask leaves in part, `kv_indices` (B, H, rows, columns)
    has their columns first; `full_kv_num_blocks` and `full_kv_indices` those that it leaves whole (or None), and the names with
    `q` for `kv` the same by column. `seq_lengths` are the numbers of queries and keys, `BLOCK_SIZE` those of a block.

    >>> from mindtorch_v2.nn.attention.flex_attention import create_block_mask
    >>> causal = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 256, 256, device="cpu", BLOCK_SIZE=128)
    >>> causal.shape, causal.sparsity(), causal.kv_num_blocks
    ((1, 1, 256, 256), 25.0, tensor([[[1, 1]]], dtype=torch.int32))
    """

    def __init__(
        self,
        seq_lengths: Sequence[int],
        kv_num_blocks: torch.Tensor,
        kv_indices: torch.Tensor,
        full_kv_num_blocks: torch.Tensor | None,
        full_kv_indices: torch.Tensor | None,
        q_num_blocks: torch.Tensor | None,
        q_indices: torch.Tensor | None,
        full_q_num_blocks: torch.Tensor | None,
        full_q_indices: torch.Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: Callable[..., Any] = noop_mask,
    ) -> None:
        _check_blocks(kv_indices, full_kv_num_blocks, full_kv_indices)
        self.seq_lengths = tuple(seq_lengths)
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: torch.Tensor,
        kv_indices: torch.Tensor,
        full_kv_num_blocks: torch.Tensor | None = None,
        full_kv_indices: torch.Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Callable[..., Any] | None = None,
        seq_lengths: Sequence[int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from its blocks by row; those by column follow, unless `compute_q_blocks` is False."""
        _check_blocks(kv_indices, full_kv_num_blocks, full_kv_indices)
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        rows, columns = kv_indices.shape[-2:]
        lengths = (rows * size[0], columns * size[1]) if seq_lengths is None else seq_lengths
        by_column: list[Any] = [None] * 4
        if compute_q_blocks:
            by_column[:2] = _ordered(_dense(kv_num_blocks, kv_indices).mT)
            if full_kv_num_blocks is not None:
                by_column[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).mT)
        by_row = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        named: dict[str, Any] = {"BLOCK_SIZE": size, "mask_mod": noop_mask if mask_mod is None else mask_mod}
        return cls(lengths, *by_row, *by_column, **named)

    @property
    def shape(self) -> tuple:
        """(B, H, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """The number of pairs of positions."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """The percentage of pairs that need not be computed; negative where the last blocks reach over the ends."""
        blocks = self.kv_num_blocks.sum()
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()
        return 100 * (1 - blocks.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> torch.Tensor:
        """1 for each block that is computed: (B, H, rows, columns)."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            dense = dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)
        return dense

    def _tensors(self) -> tuple:
        return (
            self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices,
            self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices,
        )  # fmt: skip

    def to(self, device: Device) -> BlockMask:
        """The mask on a device."""
        moved: list[Any] = [None if t is None else t.to(device) for t in self._tensors()]
        named: dict[str, Any] = {"BLOCK_SIZE": self.BLOCK_SIZE, "mask_mod": self.mask_mod}
        return type(self)(self.seq_lengths, *moved, **named)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks; the mask function is not one of it any more."""
        index = index if isinstance(index, tuple) else (index,)
        index = (*index, *[slice(None)] * 3)[:3]
        index = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else i
            for i, n in zip(index, self.kv_num_blocks.shape, strict=False)
        )
        parts: list[Any] = [None if t is None else t[index] for t in self._tensors()[:4]]
        blocks, places, full, full_places = parts
        return type(self).from_kv_blocks(
            blocks, places, full, full_places, self.BLOCK_SIZE, _sliced_mask_mod, self.seq_lengths
        )

    def _adjust(self, new_q_len, new_kv_len):
        """The upper left corner of the mask, for shorter sequences."""
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])

        def corner(num_blocks: torch.Tensor | None, indices: torch.Tensor | None) -> tuple[Any, Any]:
            return (None, None) if indices is None else _ordered(_dense(num_blocks, indices)[..., :rows, :columns])

        return type(self).from_kv_blocks(
            *corner(self.kv_num_blocks, self.kv_indices),
            *corner(self.full_kv_num_blocks, self.full_kv_indices),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
        )

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture of the blocks of each batch and head, of up to `limit` of them; `grid_size` -1 shows every block."""
        dense = self.to_dense()
        *batches, rows, columns = dense.shape
        grid = (rows, columns) if grid_size == -1 else grid_size
        most = (grid, grid) if isinstance(grid, int) else grid
        down, across = max(1, -(-rows // most[0])), max(1, -(-columns // most[1]))
        shown = []
        for count, place in enumerate(itertools.product(*map(range, batches))):
            if count == limit:
                shown += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            lines = [str(place)]
            for r in range(0, rows, down):
                shares = [dense[place][r : r + down, c : c + across].float().mean() for c in range(0, columns, across)]
                lines.append("".join("█" * 2 if s == 1 else " " * 2 if s == 0 else "░" * 2 for s in shares))
            shown.append("\n".join(lines) + "\n")
        return "\n".join(shown)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        names = "kv_num_blocks kv_indices full_kv_num_blocks full_kv_indices q_num_blocks q_indices full_q_num_blocks full_q_indices"
        parts = {name: None if t is None else t.shape for name, t in zip(names.split(), self._tensors(), strict=True)}
        parts |= {"BLOCK_SIZE": self.BLOCK_SIZE, "shape": self.shape, "sparsity": f"{self.sparsity():.2f}%"}
        parts["mask_mod"] = getattr(self.mask_mod, "__name__", self.mask_mod)
        lines = ",\n".join(f"    {name}={value}" for name, value in parts.items())
        return f"BlockMask(\n{lines}\n)"


def create_block_mask(
    mask_mod: Callable[..., Any],
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Device | None = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The `BlockMask` of a mask function; B and H None count as 1 and stand for every batch and head.

    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 4, 4, BLOCK_SIZE=2)
    >>> mask.to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=torch.int32)
    """
    if _takes_score(mask_mod):
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    mask = torch.nn.functional.pad(mask, (0, -KV_LEN % size[1], 0, -Q_LEN % size[0]))
    blocks = mask.unflatten(-1, (-1, size[1])).unflatten(-3, (-1, size[0]))
    left = blocks.sum((-1, -3))
    whole = left == size[0] * size[1] if separate_full_blocks else torch.zeros_like(left, dtype=torch.bool)
    partial, places = _ordered((left > 0) & ~whole)
    full, full_places = _ordered(whole) if separate_full_blocks else (None, None)
    return BlockMask.from_kv_blocks(partial, places, full, full_places, size, mask_mod, (Q_LEN, KV_LEN))


# ---- the attention ----


def _check(query, key, value, block_mask, enable_gqa) -> None:
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError(
            "Expect query and key/value to have the same embedding dimension "
            f"but got E={query.size(-1)} and E={key.size(-1)}."
        )
    heads, kv_heads = query.size(1), key.size(1)
    if not enable_gqa and heads != kv_heads:
        raise ValueError(
            f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={kv_heads}. "
            "Try setting enable_gqa=True for GQA."
        )
    if heads % kv_heads:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={kv_heads}."
        )
    if query.size(0) != key.size(0) and (block_mask is None or block_mask.shape[0] != query.size(0)):
        raise ValueError(
            "Expect query and key/value to have the same batch size, or block_mask and query to have the same batch size, "
            f"but got Bq={query.size(0)} and Bkv={key.size(0)}."
        )
    if block_mask is None:
        return
    if block_mask.mask_mod is _sliced_mask_mod:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    made, wanted = block_mask.shape[-2:], (query.size(-2), key.size(-2))
    text = f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={wanted[0]} and kv_len={wanted[1]}. "
    if wanted[0] > made[0] or wanted[1] > made[1]:
        raise ValueError(
            text
            + "As the block mask was created for a smaller length than you're using it for, you likely need to create "
            "a new block mask."
        )
    if wanted != made:
        raise ValueError(
            text
            + "As the block mask was created for a larger length than you're using it for, you can either 1. create a "
            "new block mask with the correct length, or 2. 'adjust' the existing block mask to the correct length by "
            "calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the upper left corner, "
            "which does not work for all mask_mods!"
        )


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., Any] | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> tuple[torch.Tensor, torch.Tensor | AuxOutput] | torch.Tensor:
    """Attention `softmax(score_mod(query @ key.mT * scale)) @ value` over the pairs that the mask leaves.

    `query` (B, Hq, L, E), `key` (B, Hkv, S, E), `value` (B, Hkv, S, Ev) to (B, Hq, L, Ev); `scale` is 1 / sqrt(E) if None. A
    query without any pair gets zeros. With `enable_gqa` Hq is a multiple of Hkv. `return_aux` adds an `AuxOutput` of what it
    asks for: `lse`, the logarithm of the sum of the exponentials of the scores, and `max_scores`, both (B, Hq, L); `return_lse` (old)
    adds the former. Computed in float32 at least. Unlike PyTorch on CPUs it has gradients.

    >>> q = torch.zeros(1, 1, 2, 4)
    >>> value = torch.tensor([1.0, 3.0]).view(1, 1, 2, 1)
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, None, None, 2, 2)
    >>> flex_attention(q, q, value, block_mask=mask).flatten()
    tensor([1., 2.])
    """
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. return_lse is deprecated, please use "
            "return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        warnings.warn(
            "return_lse is deprecated and will be removed in v2.10. Please use return_aux=AuxRequest(lse=True) instead.",
            FutureWarning,
            stacklevel=2,
        )
    dtype = query.dtype if query.dtype == torch.float64 else torch.float32
    groups = query.size(1) // key.size(1)
    key, value = (x.to(dtype).repeat_interleave(groups, 1) if groups > 1 else x.to(dtype) for x in (key, value))
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = query.to(dtype) @ key.mT * scale
    positions = _positions(scores.shape, scores.device)
    if score_mod is not None:
        scores = _over_all_pairs(score_mod, 1)(scores, *positions).to(dtype)
    if block_mask is not None:
        mask = _over_all_pairs(block_mask.mask_mod, 0)(*positions)
        scores = torch.where(mask, scores, -math.inf)
    # A query that no pair is left for has -inf everywhere: its weights are 0, not NaN.
    weights = torch._safe_softmax(scores, -1)
    out = (weights @ value).to(query.dtype)
    if return_lse:
        return out, scores.logsumexp(-1)
    if return_aux is None:
        return out
    lse = scores.logsumexp(-1) if return_aux.lse else None
    return out, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
