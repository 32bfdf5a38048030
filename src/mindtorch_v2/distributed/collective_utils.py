"""Steps that one rank or each takes, whose outcome or failure all ranks get."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from mindtorch_v2.distributed import _objects
from mindtorch_v2.distributed._group import ProcessGroup

__all__ = ["SyncPayload", "all_gather", "all_gather_object_enforce_type", "broadcast"]

T = TypeVar("T")


@dataclasses.dataclass
class SyncPayload(Generic[T]):
    """Outcome of a step: what came of it, or the exception that it ended with.

    >>> from mindtorch_v2.distributed.collective_utils import SyncPayload
    >>> SyncPayload(stage_name="read", success=True, payload=3).payload
    3
    """

    stage_name: str | None
    success: bool
    payload: T
    exception: Exception | None = None


def _outcome(data_or_fn: Any, success: bool, stage_name: str | None) -> SyncPayload[Any]:
    if not callable(data_or_fn):
        return SyncPayload(stage_name, success, data_or_fn)
    try:
        return SyncPayload(stage_name, success, data_or_fn())
    except Exception as error:  # noqa: BLE001  (all ranks raise it)
        return SyncPayload(stage_name, False, None, error)


def broadcast(
    data_or_fn: T | Callable[[], T],
    *,
    success: bool = True,
    stage_name: str | None = None,
    rank: int = 0,
    pg: ProcessGroup | None = None,
) -> T:
    """The object of one rank of a group, or the result of a function that this rank calls, on all of its ranks.

    Without a group it is this process alone. RuntimeError on all ranks if the function raises, or with `success=False`.

    >>> from mindtorch_v2.distributed.collective_utils import broadcast
    >>> broadcast(lambda: 6 * 7)
    42
    """
    if not success and data_or_fn is not None:
        raise AssertionError("Data or Function is expected to be None if not successful")
    sends = rank == (0 if pg is None else pg.rank())
    found = [_outcome(data_or_fn, success, stage_name) if sends else SyncPayload(stage_name, success, None)]
    if pg is not None:
        _objects.broadcast_object_list(found, src=rank, group=pg)
    outcome: SyncPayload[Any] = found[0]
    if not outcome.success:
        text = f"Rank {rank} failed"
        if stage_name is not None:
            text += f": stage {outcome.stage_name}"
        if outcome.exception is not None:
            text += f": exception {outcome.exception}"
        raise RuntimeError(text) from outcome.exception
    return outcome.payload


def all_gather(
    data_or_fn: T | Callable[[], T], stage_name: str | None = None, pg: ProcessGroup | None = None
) -> list[T]:
    """The objects of all ranks of a group, or the results of functions that they call, on all of its ranks.

    Without a group it is this process alone. RuntimeError on all ranks if a function raises, or the ranks are at different stages.

    >>> from mindtorch_v2.distributed.collective_utils import all_gather
    >>> all_gather(lambda: 6 * 7)
    [42]
    """
    outcome = _outcome(data_or_fn, True, stage_name)
    if pg is None:
        if not outcome.success:
            raise RuntimeError(f"all_gather failed with exception {outcome.exception}") from outcome.exception
        return [outcome.payload]
    found: list[Any] = [None] * pg.size()
    all_gather_object_enforce_type(pg, found, outcome)
    exceptions = [each.exception for each in found if each.exception is not None]
    failed = [rank for rank, each in enumerate(found) if each.exception is not None]
    if failed:
        raise RuntimeError(f"all_gather failed on ranks {failed}: {exceptions}") from exceptions[0]
    other = [each.stage_name for each in found if each.stage_name != stage_name]
    if other:
        raise RuntimeError(f"all_gather: this rank is at stage {stage_name}, but others at {other}")
    return [each.payload for each in found]


def all_gather_object_enforce_type(
    pg: ProcessGroup,
    object_list: list[Any],
    obj: Any,
    type_checker: Callable[[Any, Any], bool] = lambda x, y: type(x) is type(y),
) -> None:
    """The objects of all ranks in `object_list`. TypeError if they are not of one type, as `type_checker` sees it.

    >>> import mindtorch_v2.distributed as dist
    >>> from mindtorch_v2.distributed.collective_utils import all_gather_object_enforce_type
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [None]
    >>> all_gather_object_enforce_type(dist.group.WORLD, found, 3)
    >>> found
    [3]
    >>> dist.destroy_process_group()
    """
    _objects.all_gather_object(object_list, obj, group=pg)
    for place, each in enumerate(object_list[1:], 1):
        if not type_checker(object_list[0], each):
            raise TypeError(
                f"Object type at index {place} is {type(each)}, while first object type is {type(object_list[0])}"
            )
