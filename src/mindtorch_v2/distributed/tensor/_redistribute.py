"""Move the pieces of a tensor from one way of lying to another, one dimension of the mesh after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Partial, Placement, Replicate, Shard, chunk_bounds
from mindtorch_v2.distributed import _functional_operators  # noqa: F401  (registers what is called here)
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, nested

__all__ = ["cost", "redistribute_local", "reduce_values"]

# By operators that modes see, so that a traced program has its collectives, and debugging modes count them.
_collectives = torch.ops._c10d_functional
_OPS = {name: name for name in ("sum", "max", "min", "product", "band", "bor", "bxor")} | {"avg": "sum"}
_LITTLE = 1e-3  # what a local copy of a byte costs, where one that is sent costs one


def _operation(how: Partial) -> str:
    if how.reduce_op not in _OPS:
        raise RuntimeError(f"a distributed tensor cannot be combined by {how.reduce_op!r}: one of {sorted(_OPS)}")
    return _OPS[how.reduce_op]


def reduce_values(local: torch.Tensor, how: Partial, mesh: DeviceMesh, dim: int) -> torch.Tensor:
    """The whole tensor of what the ranks along a dimension of the mesh hold: an all_reduce."""
    made = _collectives.all_reduce(how.before(local).contiguous(), _operation(how), _name(mesh, dim))
    if how.reduce_op == "avg":
        made = made / mesh.size(dim)
    return how.after(made)


def _padded(local: torch.Tensor, dim: int, length: int) -> torch.Tensor:
    if local.shape[dim] == length:
        return local.contiguous()
    shape = list(local.shape)
    shape[dim] = length
    made = local.new_zeros(shape)
    made.narrow(dim, 0, local.shape[dim]).copy_(local)
    return made


def gather(local: torch.Tensor, dim: int, size: int, mesh: DeviceMesh, mesh_dim: int) -> torch.Tensor:
    """The pieces of all ranks along a dimension of the mesh, one after the other along `dim`, `size` together."""
    parts = mesh.size(mesh_dim)
    step = chunk_bounds(size, parts, 0)[1]
    sent = _padded(local, dim, step)
    made = _collectives.all_gather_into_tensor(sent, parts, _name(mesh, mesh_dim))
    if dim == 0:
        return made if made.shape[0] == size else made.narrow(0, 0, size)
    pieces = made.view(parts, *sent.shape).unbind()
    return torch.cat([each.narrow(dim, 0, chunk_bounds(size, parts, rank)[1]) for rank, each in enumerate(pieces)], dim)


def _scattered(local: torch.Tensor, how: Partial, dim: int, mesh: DeviceMesh, mesh_dim: int) -> torch.Tensor:
    """The rank's piece along `dim` of the whole tensor: a reduce_scatter."""
    parts, size = mesh.size(mesh_dim), local.shape[dim]
    step = chunk_bounds(size, parts, 0)[1]
    made = how.before(local)
    if dim == 0 and size == parts * step:
        sent = made.contiguous()
    else:
        sent = torch.cat([_padded(_part(made, dim, parts, rank), dim, step) for rank in range(parts)])
    result = _collectives.reduce_scatter_tensor(sent, _operation(how), parts, _name(mesh, mesh_dim))
    if how.reduce_op == "avg":
        result = result / parts
    return how.after(result.narrow(dim, 0, chunk_bounds(size, parts, _rank(mesh, mesh_dim))[1]))


def _exchanged(local: torch.Tensor, old: int, new: int, size: int, mesh: DeviceMesh, mesh_dim: int) -> torch.Tensor:
    """Pieces along `new` of what is cut along `old`, whose size is `size`: an all_to_all."""
    parts, rank = mesh.size(mesh_dim), _rank(mesh, mesh_dim)
    sent = [_part(local, new, parts, each).contiguous() for each in range(parts)]
    shape = list(local.shape)
    shape[new] = chunk_bounds(local.shape[new], parts, rank)[1]
    received = []
    for each in range(parts):
        shape[old] = chunk_bounds(size, parts, each)[1]
        received.append(tuple(shape))
    flat = torch.cat([each.reshape(-1) for each in sent])
    splits = [[math.prod(each) for each in received], [each.numel() for each in sent]]
    taken = _collectives.all_to_all_single(flat, splits[0], splits[1], _name(mesh, mesh_dim))
    pieces = [piece.view(each) for piece, each in zip(taken.split(splits[0]), received, strict=True)]
    return torch.cat(pieces, old)


def _part(tensor: torch.Tensor, dim: int, parts: int, index: int) -> torch.Tensor:
    return tensor.narrow(dim, *chunk_bounds(tensor.shape[dim], parts, index))


def _name(mesh: DeviceMesh, mesh_dim: int) -> str:
    """The group of this rank along a dimension of the mesh, as operators take it."""
    return mesh.get_group(mesh_dim).group_name


def _rank(mesh: DeviceMesh, mesh_dim: int) -> int:
    place = mesh.get_coordinate()
    if place is None:
        raise RuntimeError(f"this rank is not in {mesh}: it holds nothing of the tensor")
    return place[mesh_dim]


def _size_before(spec: DTensorSpec, now: Sequence[Placement], mesh_dim: int) -> int:
    """How long the dimension that `mesh_dim` cuts is on this rank without that cut."""
    without = [Replicate() if dim == mesh_dim else each for dim, each in enumerate(now)]
    return spec.with_placements(without).piece()[0][now[mesh_dim].dim]  # type: ignore[attr-defined]  # (instances of the class asked for)


def _cuts(placement: Placement) -> int | None:
    return placement.dim if isinstance(placement, Shard) else None


def redistribute_local(local: torch.Tensor, spec: DTensorSpec, wanted: Sequence[Placement]) -> torch.Tensor:
    """This rank's piece of a tensor that is to lie as `wanted`, from its piece as `spec` says.

    All ranks of the mesh call it. Cuts are taken back from the innermost outwards, and made from the outermost inwards.
    """
    mesh, now = spec.mesh, list(spec.placements)
    if now == list(wanted) or mesh.get_coordinate() is None:
        return local
    order = nested(now)
    inner_first = [*reversed(order), *(dim for dim in range(mesh.ndim) if dim not in order)]
    for dim in inner_first:
        have, want = now[dim], wanted[dim]
        cut, new = _cuts(have), _cuts(want)
        others = [each for each in range(mesh.ndim) if each != dim]
        alone = not any(
            _cuts(each) in (cut, new)
            for other in others
            for each in (now[other], wanted[other])
            if _cuts(each) is not None
        )
        if cut is not None:
            disturbed = any(
                now[each] != wanted[each] and cut in (_cuts(now[each]), _cuts(wanted[each])) for each in others
            )
            if have == want and not disturbed:
                continue
            size = _size_before(spec, now, dim)
            if new is not None and alone and type(want) is Shard and new != cut:
                local = _exchanged(local, cut, new, size, mesh, dim)
                now[dim] = want
            else:
                local = gather(local, cut, size, mesh, dim)
                now[dim] = Replicate()
        elif isinstance(have, Partial) and have != want:
            if new is not None and alone and type(want) is Shard:
                local = _scattered(local, have, new, mesh, dim)
                now[dim] = want
            else:
                local = reduce_values(local, have, mesh, dim)
                now[dim] = Replicate()
    for dim in [*nested(wanted), *(each for each in range(mesh.ndim) if _cuts(wanted[each]) is None)]:
        want = wanted[dim]
        if now[dim] == want:
            continue
        if isinstance(want, Shard):
            local = _part(local, want.dim, mesh.size(dim), _rank(mesh, dim)).contiguous()
        elif isinstance(want, Partial):
            local = _as_part(local, want, mesh.size(dim), _rank(mesh, dim))
        now[dim] = want
    return local


def _as_part(local: torch.Tensor, how: Partial, parts: int, rank: int) -> torch.Tensor:
    """A rank's summand of a whole tensor: for sums the first has it, the others zeros."""
    if how.reduce_op == "sum" and type(how) is Partial:
        return local if rank == 0 else torch.zeros_like(local)
    if how.reduce_op in ("avg", "max", "min") and type(how) is Partial:
        return local
    raise RuntimeError(f"a whole tensor cannot be made one that lies as {how}")


def cost(have: Placement, want: Placement, volume: float, parts: int) -> float:
    """About how many bytes a rank sends for a tensor of `volume` bytes to lie otherwise; infinite where it cannot."""
    if have == want:
        return 0.0
    if parts == 1:  # nothing moves, but it is another way of lying
        return _LITTLE
    share = volume * (parts - 1) / parts
    if isinstance(want, Partial):
        known = isinstance(have, Replicate) and type(want) is Partial and want.reduce_op in ("sum", "avg")
        return _LITTLE * volume if known else float("inf")
    if isinstance(have, Replicate):
        return _LITTLE * volume
    if isinstance(have, Partial):
        return 2 * share if isinstance(want, Replicate) else share
    return share if isinstance(want, Replicate) else share / parts + _LITTLE * volume
