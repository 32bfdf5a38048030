"""`context_parallel`: sequences cut over the ranks, and attention that sees all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._redistribute import gather

__all__ = ["context_parallel", "context_parallel_unshard", "set_rotate_method"]

functional = torch.nn.functional


def set_rotate_method(rotate_method: str) -> None:
    """Accepted as in PyTorch ("allgather", "alltoall"): keys and values are gathered here, whatever is said."""
    if rotate_method not in ("allgather", "alltoall"):
        raise NotImplementedError(f"Context Parallel does not support using {rotate_method} for kv shards rotation")


def _order(length: int, ranks: int) -> list[torch.Tensor]:
    """The places of each rank: the r-th piece of twice as many pieces as ranks, and the r-th from behind, so that all have as
    much to do where later places see more."""
    if length % (2 * ranks):
        raise ValueError(
            f"a sequence of {length} cannot be cut into twice as many equal pieces as there are ranks ({ranks})"
        )
    pieces = torch.arange(length).chunk(2 * ranks)
    return [torch.cat([pieces[rank], pieces[2 * ranks - 1 - rank]]) for rank in range(ranks)]


class _Gathered(torch.autograd.Function):
    """All ranks' pieces along a dimension, in the order of the sequence; gradients go back to their ranks, summed."""

    @staticmethod
    def forward(ctx: Any, piece: torch.Tensor, dim: int, mesh: DeviceMesh, places: Any) -> torch.Tensor:
        ctx.dim, ctx.mesh, ctx.places = dim, mesh, places
        whole = gather(piece, dim, piece.shape[dim] * mesh.size(), mesh, 0)
        return whole.index_select(dim, torch.argsort(torch.cat(places)))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        total = gradient.contiguous().clone()
        torch.distributed.all_reduce(total, group=ctx.mesh.get_group())
        return total.index_select(ctx.dim, ctx.places[ctx.mesh.get_local_rank()]), None, None, None


@contextlib.contextmanager
def context_parallel(
    mesh: DeviceMesh,
    *,
    buffers: list[torch.Tensor] | None = None,
    buffer_seq_dims: list[int] | None = None,
    no_restore_buffers: set[torch.Tensor] | None = None,
) -> Iterator[None]:
    """Within this block buffers are this rank's part of their sequences, and attention is over the whole sequences.

    `torch.nn.functional.scaled_dot_product_attention` gathers keys and values of all ranks; everything else works on parts.
    Each rank has a part from the front and one from behind, so that causal attention is as much work for all.

    Args:
        mesh: the ranks, of one dimension.
        buffers: tensors that are cut in place: inputs, targets, tables of positions. They are whole again after the block.
        buffer_seq_dims: the dimension of the sequence in each.
        no_restore_buffers: those that need not be whole again.

    >>> from mindtorch_v2.distributed.tensor.experimental import context_parallel
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = torch.arange(8.0).reshape(1, 1, 4, 2)
    >>> with context_parallel(mesh, buffers=[x], buffer_seq_dims=[2]):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).shape
    torch.Size([1, 1, 4, 2])
    >>> dist.destroy_process_group()
    """
    buffers, dims = buffers or [], buffer_seq_dims or []
    if len(buffers) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    kept = no_restore_buffers or set()
    if any(all(each is not buffer for buffer in buffers) for each in kept):
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    rank = mesh.get_local_rank()
    whole = []
    with torch.no_grad():
        for buffer, dim in zip(buffers, dims, strict=True):
            whole.append(None if any(buffer is each for each in kept) else buffer.detach().clone())
            part = buffer.index_select(dim, _order(buffer.shape[dim], mesh.size())[rank])
            buffer.resize_(part.shape).copy_(part)
    plain = functional.scaled_dot_product_attention

    def attention(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> torch.Tensor:
        if attn_mask is not None:
            raise NotImplementedError("context_parallel: attention takes is_causal, and no attn_mask")
        places = _order(key.shape[-2] * mesh.size(), mesh.size())
        keys, values = (_Gathered.apply(each, each.dim() - 2, mesh, places) for each in (key, value))
        mask = None
        if is_causal:
            mask = places[rank].unsqueeze(1) >= torch.arange(keys.shape[-2]).unsqueeze(0)
        return plain(query, keys, values, mask, dropout_p, False, scale=scale, enable_gqa=enable_gqa)

    functional.scaled_dot_product_attention = attention
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = plain
        with torch.no_grad():
            for buffer, before in zip(buffers, whole, strict=True):
                if before is not None:
                    buffer.resize_(before.shape).copy_(before)


def context_parallel_unshard(
    mesh: DeviceMesh, buffers: Sequence[torch.Tensor], seq_dims: Sequence[int], load_balancer: Any = None
) -> list[torch.Tensor]:
    """The whole sequences of which ranks have parts, in order. All ranks call it."""
    made = []
    with torch.no_grad():
        for buffer, dim in zip(buffers, seq_dims, strict=True):
            places = _order(buffer.shape[dim] * mesh.size(), mesh.size())
            made.append(_Gathered.apply(buffer.detach(), dim, mesh, places))
    return made
