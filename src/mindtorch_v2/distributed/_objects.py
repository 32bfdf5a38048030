"""Collectives on Python objects, which travel pickled. As with every pickle: only between processes that trust each other."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed._groups import get_rank, get_world_size, outside, resolve, root_in, warn_outside
from mindtorch_v2.distributed._operations import all_gather, broadcast, gather, only_on, recv, scatter, send

if TYPE_CHECKING:
    from mindtorch_v2.distributed._group import ProcessGroup
    from mindtorch_v2.types import Device


__all__ = [
    "all_gather_object",
    "broadcast_object_list",
    "gather_object",
    "recv_object_list",
    "scatter_object_list",
    "send_object_list",
]


def _device(group, device=None):
    """Where the bytes travel: where the group's first back end takes them."""
    return torch.device(next(iter(resolve(group)._backends))) if device is None else torch.device(device)


def _pack(objects, device) -> tuple:
    """The pickles of objects, one after the other, as a tensor of bytes; and the size of each as another tensor."""
    pickles = [pickle.dumps(each) for each in objects]
    sizes = torch.tensor([len(each) for each in pickles], dtype=torch.int64, device=device)
    if not pickles:
        return _room(0, device), sizes
    return torch.frombuffer(bytearray(b"".join(pickles)), dtype=torch.uint8).to(device), sizes


def _room(count, device):
    """Where so many bytes can be received."""
    return torch.empty(count, dtype=torch.uint8, device=device)


def _unpack(contents, size):
    return pickle.loads(contents[:size].cpu().numpy().tobytes())


def _unpack_all(contents, sizes, object_list) -> None:
    """Put the objects whose pickles lie one after the other into a list."""
    counts = sizes.tolist()
    for index, part in enumerate(contents.split(counts)):
        object_list[index] = _unpack(part, counts[index])


def _padded(contents, size):
    """The bytes with as many zeros behind as it takes."""
    return torch.nn.functional.pad(contents, (0, size - contents.numel()))


def _sizes(size, group, device) -> list:
    """The sizes on all ranks."""
    sizes = [torch.zeros(1, dtype=torch.int64, device=device) for _ in range(get_world_size(group))]
    all_gather(sizes, size, group)
    return [int(each.item()) for each in sizes]


def all_gather_object(object_list: list[Any], obj: Any, group: ProcessGroup | None = None) -> None:
    """Put the `obj` of each rank into `object_list[rank]`, everywhere.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> everything = [None]
    >>> dist.all_gather_object(everything, {"rank": dist.get_rank()})
    >>> everything
    [{'rank': 0}]
    >>> dist.destroy_process_group()
    """
    if outside(group):
        return warn_outside("all_gather_object")
    device = _device(group)
    contents, size = _pack([obj], device)
    sizes = _sizes(size, group, device)
    landing = [_room(max(sizes), device) for _ in sizes]
    all_gather(landing, _padded(contents, max(sizes)), group)
    for rank, (bytes_there, count) in enumerate(zip(landing, sizes, strict=True)):
        object_list[rank] = _unpack(bytes_there, count)
    return None


def gather_object(
    obj: Any,
    object_gather_list: Any = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    group_dst: int | None = None,
) -> None:
    """Put the `obj` of each rank into `object_gather_list[rank]` of one rank: 0, `dst` (of the job) or `group_dst`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> everything = [None]
    >>> dist.gather_object("mine", everything, dst=0)
    >>> everything
    ['mine']
    >>> dist.destroy_process_group()
    """
    if outside(group):
        return warn_outside("gather_object")
    root = root_in(group, dst, group_dst, default=0)
    only_on(root, object_gather_list, "gather_list", "destination", group)
    device = _device(group)
    contents, size = _pack([obj], device)
    sizes = _sizes(size, group, device)
    here = get_rank(group) == root
    landing = [_room(max(sizes), device) for _ in sizes] if here else None
    gather(_padded(contents, max(sizes)), landing, group=group, group_dst=root)
    for rank, (bytes_there, count) in enumerate(zip(landing or [], sizes, strict=here)):
        object_gather_list[rank] = _unpack(bytes_there, count)
    return None


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Device | None = None,
    group_src: int | None = None,
) -> None:
    """Copy the objects of a list of one rank (0, `src` of the job, or `group_src`) into the list of every other.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> objects = [{"lr": 0.1}, "adam"]
    >>> dist.broadcast_object_list(objects, src=0)
    >>> objects
    [{'lr': 0.1}, 'adam']
    >>> dist.destroy_process_group()
    """
    if outside(group):
        return warn_outside("broadcast_object_list")
    root = root_in(group, src, group_src, default=0)
    device = _device(group, device)
    here = get_rank(group) == root
    if here:
        contents, sizes = _pack(object_list, device)
    else:
        sizes = torch.empty(len(object_list), dtype=torch.int64, device=device)
    broadcast(sizes, group=group, group_src=root)
    if not here:
        contents = _room(int(sizes.sum()), device)
    broadcast(contents, group=group, group_src=root)
    if not here:
        _unpack_all(contents, sizes, object_list)
    return None


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Any = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    group_src: int | None = None,
) -> None:
    """Put the object for each rank, of the list of one (0, `src` of the job, or `group_src`), into its output list's first place.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine = [None]
    >>> dist.scatter_object_list(mine, ["for rank 0"], src=0)
    >>> mine
    ['for rank 0']
    >>> dist.destroy_process_group()
    """
    if outside(group):
        return warn_outside("scatter_object_list")
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_in(group, src, group_src, default=0)
    device = _device(group)
    here = get_rank(group) == root
    if here and scatter_object_input_list is None:
        raise ValueError("source rank must provide non-None scatter_object_input_list")
    packed = [_pack([each], device) for each in scatter_object_input_list] if here else []
    largest = torch.tensor([max((int(size.item()) for _, size in packed), default=0)], dtype=torch.int64, device=device)
    broadcast(largest, group=group, group_src=root)
    longest = int(largest.item())
    landing = _room(longest, device)
    scatter(landing, [_padded(each, longest) for each, _ in packed] or None, group=group, group_src=root)
    size = torch.zeros(1, dtype=torch.int64, device=device)
    scatter(size, [each for _, each in packed] or None, group=group, group_src=root)
    scatter_object_output_list[0] = _unpack(landing, int(size.item()))
    return None


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: Device | None = None,
    group_dst: int | None = None,
) -> None:
    """Send the objects of a list to a rank, which calls `recv_object_list`."""
    if outside(group):
        return warn_outside("send_object_list")
    contents, sizes = _pack(object_list, _device(group, device))
    send(sizes, dst, group, group_dst=group_dst)
    send(contents, dst, group, group_dst=group_dst)
    return None


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: Device | None = None,
    group_src: int | None = None,
) -> int:
    """Receive objects into a list of the right length from a rank, from any without `src`. Returns the sender's rank in the job."""
    if outside(group):
        warn_outside("recv_object_list")
        return -1
    device = _device(group, device)
    sizes = torch.empty(len(object_list), dtype=torch.int64, device=device)
    sender = recv(sizes, src, group, group_src=group_src)
    contents = _room(int(sizes.sum()), device)
    recv(contents, sender, group)
    _unpack_all(contents, sizes, object_list)
    return sender
