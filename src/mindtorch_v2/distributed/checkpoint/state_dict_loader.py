"""`load`: a checkpoint, however many ranks saved it, into a state dictionary whose tensors may be distributed."""

from __future__ import annotations

import os
from typing import Any

from mindtorch_v2.distributed.checkpoint.default_planner import DefaultLoadPlanner
from mindtorch_v2.distributed.checkpoint.filesystem import FileSystemReader
from mindtorch_v2.distributed.checkpoint.planner import LoadPlan, LoadPlanner
from mindtorch_v2.distributed.checkpoint.stateful import Stateful
from mindtorch_v2.distributed.checkpoint.storage import StorageReader
from mindtorch_v2.distributed.checkpoint.utils import _DistWrapper

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: StorageReader | None = None,
    planner: LoadPlanner | None = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Load a checkpoint together with the other ranks, in place: each reads the parts that its tensors need.

    Objects that are no tensors are unpickled: load checkpoints that you trust.

    Args:
        state_dict: what is to be filled: tensors of the sizes that were saved, lying as they may; values that are replaced;
            `Stateful` objects, which are given their state.
        checkpoint_id: the folder.
        storage_reader: another storage than a folder.
        planner: another planner than `DefaultLoadPlanner`.
        process_group: the ranks; all by default.
        no_dist: whether this rank loads alone.

    CheckpointException on all ranks if one fails: a name that was not saved, another size, a file that is not whole.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> state = {"weight": torch.tensor([1.0, 2.0]), "step": 3}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save(state, checkpoint_id=folder)
    ...     wanted = {"weight": torch.zeros(2), "step": 0}
    ...     dcp.load(wanted, checkpoint_id=folder)
    >>> wanted
    {'weight': tensor([1., 2.]), 'step': 3}
    """
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader is None.")
        storage_reader = FileSystemReader(checkpoint_id)
    else:
        storage_reader.reset(checkpoint_id)
    values = {name: each.state_dict() if isinstance(each, Stateful) else each for name, each in state_dict.items()}
    _load(values, storage_reader, planner or DefaultLoadPlanner(), _DistWrapper(process_group, not no_dist, 0))
    for name, each in state_dict.items():
        if isinstance(each, Stateful):
            each.load_state_dict(values[name])
        else:
            state_dict[name] = values[name]


def _load(values: dict[str, Any], reader: StorageReader, planner: LoadPlanner, ranks: _DistWrapper) -> None:
    def plan() -> LoadPlan:
        metadata = reader.read_metadata()
        planner.set_up_planner(values, metadata, ranks.is_coordinator)
        reader.set_up_storage_reader(metadata, ranks.is_coordinator)
        return reader.prepare_local_plan(planner.create_local_plan())

    chosen = ranks.reduce_scatter(
        "plan", plan, lambda local: reader.prepare_global_plan(planner.create_global_plan(local))
    )
    ranks.reduce_scatter(
        "read", lambda: reader.read_data(planner.finish_plan(chosen), planner).wait(), lambda all_: all_
    )


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load`, as earlier programs call it; nothing is asked of `Stateful` objects.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> import warnings
    >>> wanted = {"weight": torch.zeros(2)}
    >>> with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
    ...     _ = dcp.save({"weight": torch.tensor([1.0, 2.0])}, checkpoint_id=folder)
    ...     dcp.load_state_dict(wanted, dcp.FileSystemReader(folder), no_dist=True)
    >>> wanted
    {'weight': tensor([1., 2.])}
    """
    storage_reader.reset()
    _load_state_dict(state_dict, storage_reader, process_group, coordinator_rank, no_dist, planner)


def _load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: StorageReader,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:
    """`load_state_dict` of a reader that is told already where to read; libraries call it by PyTorch's name."""
    if coordinator_rank:
        raise ValueError(f"the first rank coordinates the others, not rank {coordinator_rank}")
    _load(state_dict, storage_reader, planner or DefaultLoadPlanner(), _DistWrapper(process_group, not no_dist, 0))
