"""Collectives among many ranks: rings for what is large, trees for what is small.

No rank sends to more than a few others. Each function is given a round: `exchange(turn, sends, receives)` with {rank: memoryview}. Each
element is combined in one order on whichever rank does it, and copied from there, or in an order that differs only in which of two
comes first: all ranks get the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed._memory import bytes_of, combine_into
from mindtorch_v2.distributed._reduce_op import RedOpType

__all__ = ["all_gather", "all_reduce", "all_reduce_small", "barrier", "broadcast", "reduce", "reduce_scatter"]

_Round = Callable[[int, dict[int, memoryview], dict[int, memoryview]], None]


def _settle(tensor: torch.Tensor, op: RedOpType, size: int) -> None:
    if op is RedOpType.AVG:
        tensor.div_(size)


def all_reduce(exchange: _Round, rank: int, size: int, flat: torch.Tensor, op: Any) -> None:
    """Combine a row over the ranks in its place: a ring that combines pieces, and one that hands them round."""
    step = -(-flat.numel() // size)
    pieces = [flat[min(each * step, flat.numel()) : (each + 1) * step] for each in range(size)]
    _combine_round(exchange, rank, size, pieces, op)
    _settle(pieces[rank], op, size)
    _hand_round(exchange, rank, size, pieces, first_turn=size)


def reduce_scatter(
    exchange: _Round, rank: int, size: int, parts: Sequence[torch.Tensor], into: torch.Tensor, op: Any
) -> None:
    """Combine the ranks' parts of each number; this rank's goes into a row."""
    pieces = [part.clone() for part in parts]  # the program's own stay as they are
    _combine_round(exchange, rank, size, pieces, op)
    _settle(pieces[rank], op, size)
    into.copy_(pieces[rank])


def all_gather(exchange: _Round, rank: int, size: int, own: torch.Tensor, outputs: Sequence[torch.Tensor]) -> None:
    """Each rank's tensor into the outputs of all, but for its own."""
    pieces = [each if each.is_contiguous() else torch.empty_like(each).contiguous() for each in outputs]
    pieces[rank] = own
    _hand_round(exchange, rank, size, pieces, first_turn=0)
    for other, (piece, output) in enumerate(zip(pieces, outputs, strict=True)):
        if other != rank and piece is not output:
            output.copy_(piece)


def _combine_round(exchange: _Round, rank: int, size: int, pieces: Sequence[torch.Tensor], op: Any) -> None:
    """Afterwards `pieces[rank]` is combined over all ranks; the others hold parts of sums."""
    after, before = (rank + 1) % size, (rank - 1) % size
    landing = torch.empty_like(pieces[0])  # no piece is longer
    for turn in range(size - 1):
        sent, received = pieces[(rank - turn - 1) % size], pieces[(rank - turn - 2) % size]
        room = landing[: received.numel()]
        exchange(turn, {after: bytes_of(sent)}, {before: bytes_of(room)})
        combine_into(received, room, op)


def _hand_round(exchange: _Round, rank: int, size: int, pieces: Sequence[torch.Tensor], first_turn: int) -> None:
    """Afterwards every rank has every piece; before, each has its own."""
    after, before = (rank + 1) % size, (rank - 1) % size
    for turn in range(size - 1):
        sent, received = pieces[(rank - turn) % size], pieces[(rank - turn - 1) % size]
        exchange(first_turn + turn, {after: bytes_of(sent)}, {before: bytes_of(received)})


def all_reduce_small(exchange: _Round, rank: int, size: int, flat: torch.Tensor, op: Any) -> None:
    """Combine a short row over the ranks in its place: in each turn with a rank twice as far away."""
    whole = 1 << (
        size.bit_length() - 1
    )  # the largest power of two: the ranks beyond hand theirs to one below, and get the result
    beyond = size - whole
    room = torch.empty_like(flat)
    last = whole.bit_length()
    if rank >= whole:
        exchange(0, {rank - whole: bytes_of(flat)}, {})
        exchange(last, {}, {rank - whole: bytes_of(flat)})
        return
    if rank < beyond:
        exchange(0, {}, {rank + whole: bytes_of(room)})
        combine_into(flat, room, op)
    for turn in range(1, last):
        other = rank ^ (1 << (turn - 1))
        exchange(turn, {other: bytes_of(flat)}, {other: bytes_of(room)})
        combine_into(flat, room, op)
    _settle(flat, op, size)
    if rank < beyond:
        exchange(last, {rank + whole: bytes_of(flat)}, {})


def broadcast(exchange: _Round, rank: int, size: int, view: memoryview, root: int) -> None:
    """One rank's bytes to all: those that have them double in each turn."""
    place = (rank - root) % size
    for turn in range((size - 1).bit_length()):
        distance = 1 << turn
        if place < distance:
            if place + distance < size:
                exchange(turn, {(rank + distance) % size: view}, {})
        elif place < 2 * distance:
            exchange(turn, {}, {(rank - distance) % size: view})


def reduce(exchange: _Round, rank: int, size: int, flat: torch.Tensor, root: int, op: Any) -> None:
    """Combine a row over the ranks in the root's place: in each turn half of those left hand theirs on."""
    place = (rank - root) % size
    total = flat if rank == root else flat.clone()  # the program's own stays as it is
    room = torch.empty_like(flat)
    for turn in range((size - 1).bit_length()):
        distance = 1 << turn
        if place & distance:
            exchange(turn, {(rank - distance) % size: bytes_of(total)}, {})
            return
        if place + distance < size:
            exchange(turn, {}, {(rank + distance) % size: bytes_of(room)})
            combine_into(total, room, op)
    _settle(total, op, size)


def barrier(exchange: _Round, rank: int, size: int) -> None:
    """Return when all ranks are there: in each turn a rank hears, by way of others, of twice as many."""
    nothing = memoryview(bytearray())
    for turn in range((size - 1).bit_length()):
        distance = 1 << turn
        exchange(turn, {(rank + distance) % size: nothing}, {(rank - distance) % size: nothing})
