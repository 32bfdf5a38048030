"""`save` and `async_save`: a state dictionary whose tensors may be distributed, as files of all ranks."""

from __future__ import annotations

import concurrent.futures
import enum
import os
from collections.abc import Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint.default_planner import DefaultSavePlanner
from mindtorch_v2.distributed.checkpoint.filesystem import FileSystemWriter
from mindtorch_v2.distributed.checkpoint.metadata import Metadata
from mindtorch_v2.distributed.checkpoint.planner import SavePlan, SavePlanner
from mindtorch_v2.distributed.checkpoint.stateful import Stateful
from mindtorch_v2.distributed.checkpoint.storage import StorageWriter
from mindtorch_v2.distributed.checkpoint.utils import _DistWrapper
from mindtorch_v2.distributed.tensor._api import DTensor

__all__ = ["AsyncCheckpointerType", "async_save", "save", "save_state_dict"]


class AsyncCheckpointerType(enum.Enum):
    """Who writes: a thread. A process of its own is not there.

    >>> from mindtorch_v2.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
    >>> AsyncCheckpointerType.THREAD.value
    'thread'
    """

    THREAD = "thread"
    PROCESS = "process"


def _values(state_dict: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each.state_dict() if isinstance(each, Stateful) else each for name, each in state_dict.items()}


def _writer(given: StorageWriter | None, checkpoint_id: Any) -> StorageWriter:
    if given is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_writer is None.")
        return FileSystemWriter(checkpoint_id)
    given.reset(checkpoint_id)
    return given


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Save a state dictionary together with the other ranks; what was saved.

    Every rank writes the pieces of `DTensor` that it has; what is whole on several ranks is written once. Objects are those of
    the first rank.

    Args:
        state_dict: nested dictionaries and lists of tensors and other values; objects that are `Stateful` are asked for theirs.
        checkpoint_id: the folder.
        storage_writer: another storage than a folder.
        planner: another planner than `DefaultSavePlanner`.
        process_group: the ranks; all by default.
        no_dist: whether this rank saves alone.
        use_collectives: accepted as in PyTorch; ranks always agree on a plan.

    CheckpointException on all ranks if one fails; a checkpoint that is not whole has no `.metadata`.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = dcp.save({"weight": torch.ones(2), "step": 3}, checkpoint_id=folder)
    >>> sorted(saved.state_dict_metadata)
    ['step', 'weight']
    """
    writer, ranks = _writer(storage_writer, checkpoint_id), _DistWrapper(process_group, not no_dist, 0)
    planner = planner or DefaultSavePlanner()
    return _save(_values(state_dict), writer, planner, ranks)


def _save(values: dict[str, Any], writer: StorageWriter, planner: SavePlanner, ranks: _DistWrapper) -> Metadata:
    made: list[Metadata] = []

    def plan() -> SavePlan:
        planner.set_up_planner(values, writer.storage_meta(), ranks.is_coordinator)
        writer.set_up_storage_writer(ranks.is_coordinator)
        return writer.prepare_local_plan(planner.create_local_plan())

    def plans(local: list[SavePlan]) -> list[SavePlan]:
        whole, metadata = planner.create_global_plan(local)
        made.append(metadata)
        return writer.prepare_global_plan(whole)

    chosen = ranks.reduce_scatter("plan", plan, plans)

    def finish(results: list[Any]) -> list[Metadata]:
        writer.finish(made[0], results)
        return [made[0]] * len(results)

    return ranks.reduce_scatter("write", lambda: writer.write_data(planner.finish_plan(chosen), planner).wait(), finish)


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: StorageWriter,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:
    """`save`, as earlier programs call it.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> import warnings
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
    ...     saved = dcp.save_state_dict({"step": 3}, dcp.FileSystemWriter(folder), no_dist=True)
    >>> list(saved.state_dict_metadata)
    ['step']
    """
    if coordinator_rank:
        raise ValueError(f"the first rank coordinates the others, not rank {coordinator_rank}")
    return save(
        state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner
    )


def _copied(value: Any) -> Any:
    """A value whose tensors are copies on the CPU."""
    if isinstance(value, DTensor):
        return DTensor(value._local_tensor.detach().clone(), value._spec, requires_grad=False)
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, Mapping):
        return {name: _copied(each) for name, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_writer: StorageWriter | None = None,
    planner: SavePlanner | None = None,
    process_group: Any = None,
    async_checkpointer_type: AsyncCheckpointerType = AsyncCheckpointerType.THREAD,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> concurrent.futures.Future[Metadata]:
    """Save copies of a state dictionary while the program goes on; a future of what was saved.

    The arguments are those of `save`. The ranks agree in another thread, so that `process_group` should be one that the program
    does not use meanwhile: `torch.distributed.new_group()`. Wait for one save before the next begins.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     future = dcp.async_save({"weight": torch.ones(2)}, checkpoint_id=folder)
    ...     saved = future.result()
    >>> list(saved.state_dict_metadata)
    ['weight']
    """
    if async_checkpointer_type is not AsyncCheckpointerType.THREAD:
        raise NotImplementedError("async_save writes in a thread: AsyncCheckpointerType.PROCESS is not there")
    writer, ranks = _writer(storage_writer, checkpoint_id), _DistWrapper(process_group, not no_dist, 0)
    values = _copied(_values(state_dict))
    executor = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    future = executor.submit(_save, values, writer, planner or DefaultSavePlanner(), ranks)
    executor.shutdown(wait=False)
    return future
