"""Tensors between the devices of one process: copies to each, pieces to each, sums and joins on one.

Devices are those of the accelerator: its indices, or devices with one. Without an accelerator there is none to name.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import mindtorch_v2 as torch
from mindtorch_v2._utils import (
    _flatten_dense_tensors,
    _get_device_index,
    _reorder_tensors_as,
    _take_tensors,
    _unflatten_dense_tensors,
)

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]

_Devices = Iterable[int | str | torch.device]


def _device(which: int | str | torch.device) -> torch.device:
    """The accelerator's device of an index or a name. RuntimeError if there is no accelerator."""
    index = _get_device_index(which)
    kind = torch.accelerator.current_accelerator(check_available=True)
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return torch.device(kind.type, index)


def broadcast(
    tensor: torch.Tensor, devices: _Devices | None = None, *, out: Sequence[torch.Tensor] | None = None
) -> tuple[torch.Tensor, ...]:
    """A copy of `tensor` on each of `devices`, or in each tensor of `out`; where it is already it is no copy.

    RuntimeError unless one of `devices` and `out` is given.

    >>> from mindtorch_v2.nn.parallel import comm
    >>> comm.broadcast(torch.arange(2), out=[torch.zeros(2, dtype=torch.int64)])
    (tensor([0, 1]),)
    """
    if (devices is None) == (out is None):
        raise RuntimeError(
            f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}"
        )
    if out is not None:
        return tuple(each.copy_(tensor) for each in out)
    return tuple(tensor.to(_device(each)) for each in devices or ())


def broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: _Devices, buffer_size: int = 10485760
) -> list[tuple[torch.Tensor, ...]]:
    """Copies of all tensors on each device, small ones of one dtype in transfers of at most `buffer_size` bytes.

    The device of the tensors gets their own memory. No copy has a gradient.

    >>> from mindtorch_v2.nn.parallel import comm
    >>> comm.broadcast_coalesced([torch.ones(2)], [])
    []
    """
    places = [_device(each) for each in devices]
    copies: list[tuple[torch.Tensor, ...]] = []
    for place in places:
        if all(each.device == place for each in tensors):
            copies.append(tuple(each.detach() for each in tensors))
            continue
        moved: list[torch.Tensor] = []
        for group in _take_tensors(tensors, buffer_size):
            moved += _unflatten_dense_tensors(_flatten_dense_tensors(group).detach().to(place), group)
        copies.append(tuple(_reorder_tensors_as(moved, tensors)))
    return copies


def reduce_add(inputs: Sequence[torch.Tensor], destination: int | torch.device | None = None) -> torch.Tensor:
    """The sum of tensors of one shape, each of another device, on the device `destination`: the current one by default.

    AssertionError for a tensor in the host's memory, ValueError for unequal shapes, RuntimeError if none of the tensors is on
    that device.

    >>> from mindtorch_v2.nn.parallel import comm
    >>> comm.reduce_add([torch.ones(2)])
    Traceback (most recent call last):
    AssertionError: reduce_add expects all inputs to be on GPUs, but input 0 is on CPU
    """
    destination = _get_device_index(destination, optional=True) if destination is not None else None
    shape, root = inputs[0].size(), None
    for place, each in enumerate(inputs):
        if each.device.type == "cpu":
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {place} is on CPU")
        if destination is None:
            destination = torch.accelerator.current_device_index()
        if each.get_device() == destination:
            root = place
        if each.size() != shape:
            raise ValueError(
                f"input {place} has invalid size: got {'x'.join(map(str, each.size()))}, but expected "
                f"{'x'.join(map(str, shape))}"
            )
    if root is None:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    if len(inputs) == 1:
        return inputs[0]
    device = inputs[root].device
    first, *others = [each for i, each in enumerate(inputs) if i != root]
    total = inputs[root] + first.to(device)
    for each in others:
        total += each.to(device)
    return total


def reduce_add_coalesced(
    inputs: Sequence[Sequence[torch.Tensor]],
    destination: int | torch.device | None = None,
    buffer_size: int = 10485760,
) -> tuple[torch.Tensor, ...]:
    """The sums of tensors of several devices, as `reduce_add` makes them, small ones together in one transfer.

    `inputs` has the tensors of a device in each of its lists, in the same order.

    >>> from mindtorch_v2.nn.parallel import comm
    >>> comm.reduce_add_coalesced([[torch.ones(2)]])
    Traceback (most recent call last):
    AssertionError: reduce_add expects all inputs to be on GPUs, but input 0 is on CPU
    """
    if any(each.device.type == "cpu" for each in (group[0] for group in inputs if group)):
        raise AssertionError("reduce_add expects all inputs to be on GPUs, but input 0 is on CPU")
    summed: list[torch.Tensor] = []
    for groups in zip(*(_take_tensors(each, buffer_size) for each in inputs), strict=True):
        total = reduce_add([_flatten_dense_tensors(group) for group in groups], destination)
        summed += _unflatten_dense_tensors(total, groups[0])
    return tuple(_reorder_tensors_as(summed, inputs[0]))


def scatter(
    tensor: torch.Tensor,
    devices: _Devices | None = None,
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
    streams: object = None,
    *,
    out: Sequence[torch.Tensor] | None = None,
) -> tuple[torch.Tensor, ...]:
    """Pieces of `tensor` along `dim`, one on each of `devices`, or in the tensors of `out`, whose sizes say where to cut.

    Pieces are as `torch.chunk` makes them, or of `chunk_sizes`. The copies run on the current streams.

    RuntimeError if `devices` or `chunk_sizes` are given beside `out`.

    >>> from mindtorch_v2.nn.parallel import comm
    >>> comm.scatter(torch.arange(3), out=[torch.zeros(2, dtype=torch.int64), torch.zeros(1, dtype=torch.int64)])
    (tensor([0, 1]), tensor([2]))
    """
    if out is not None:
        for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
            if given is not None:
                raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={given}")
        pieces = tensor.split([each.size(dim) for each in out], dim)
        return tuple(place.copy_(piece) for place, piece in zip(out, pieces, strict=True))
    if devices is None:
        raise TypeError("scatter() needs 'devices', or 'out': expected one of them, but got neither")
    places = [_device(each) for each in devices]
    pieces = tensor.chunk(len(places), dim) if chunk_sizes is None else tensor.split(list(chunk_sizes), dim)
    return tuple(piece.to(place) for piece, place in zip(pieces, places, strict=False))


def gather(
    tensors: Sequence[torch.Tensor],
    dim: int = 0,
    destination: int | str | torch.device | None = None,
    *,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Tensors of several devices joined along `dim` on the device `destination` (by default the current one), or in `out`.

    The destination may be the CPU, as a device or a name. RuntimeError if it is given beside `out`.

    >>> from mindtorch_v2.nn.parallel import comm
    >>> comm.gather([torch.arange(2), torch.arange(1)], destination="cpu")
    tensor([0, 1, 0])
    """
    if out is not None:
        if destination is not None:
            raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got {destination=}")
        return out.copy_(torch.cat([each.to(out.device) for each in tensors], dim))
    if destination == -1:
        warnings.warn(
            "Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, "
            'e.g., "cpu".',
            FutureWarning,
            stacklevel=2,
        )
    if destination is None:
        destination = torch.accelerator.current_device_index()
    on_host = _get_device_index(destination, allow_cpu=True) == -1
    place = torch.device("cpu") if on_host else _device(destination)
    return torch.cat([each.to(place) for each in tensors], dim)
