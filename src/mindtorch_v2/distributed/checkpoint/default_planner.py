"""The planners that `save` and `load` use: pieces of distributed tensors where they are, everything else once."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint._nested_dict import flatten_state_dict
from mindtorch_v2.distributed.checkpoint._traverse import set_element
from mindtorch_v2.distributed.checkpoint.metadata import (
    BytesStorageMetadata,
    Metadata,
    MetadataIndex,
    TensorStorageMetadata,
)
from mindtorch_v2.distributed.checkpoint.planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from mindtorch_v2.distributed.checkpoint.planner_helpers import _create_read_items, _create_write_items, _local_data

__all__ = [
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "create_default_global_load_plan",
    "create_default_global_save_plan",
    "create_default_local_load_plan",
    "create_default_local_save_plan",
]

_VERSION = "1.0.0"


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """A plan of all that a rank could write: its pieces of tensors, and, for the coordinator, objects.

    >>> from mindtorch_v2.distributed.checkpoint.default_planner import create_default_local_save_plan
    >>> plan = create_default_local_save_plan({"weight": torch.ones(2), "step": 3}, is_coordinator=True)
    >>> [(item.index.fqn, item.type.name) for item in plan.items]
    [('weight', 'TENSOR'), ('step', 'BYTE_IO')]
    """
    items: list[WriteItem] = []
    for name, value in state_dict.items():
        if isinstance(value, torch.Tensor) or is_coordinator:
            items += _create_write_items(name, value)
    return SavePlan(items)


class DefaultSavePlanner(SavePlanner):
    """Write each piece once: where several ranks have it, the one that has least to write.

    Args:
        flatten_state_dict, flatten_sharded_tensors: nested dictionaries are taken apart; as in PyTorch by default.
        dedup_replicated_tensors: accepted as in PyTorch; what is whole on several ranks is written once.
        dedup_save_to_lowest_rank: whether the lowest rank that has a piece writes it.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> state = {"layer": {"weight": torch.tensor([1.0, 2.0])}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = dcp.save(state, checkpoint_id=folder, planner=dcp.DefaultSavePlanner(flatten_state_dict=True))
    >>> list(saved.state_dict_metadata)
    ['layer.weight']
    """

    def __init__(
        self,
        flatten_state_dict: bool = True,
        flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None,
        dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:
        self.flatten_state_dict, self.dedup_save_to_lowest_rank = flatten_state_dict, dedup_save_to_lowest_rank
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.is_coordinator = state_dict, is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        return dataclasses.replace(plan, planner_data=self.mappings) if self.flatten_state_dict else plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        chosen = _once(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(
            [dataclasses.replace(plan, items=items) for plan, items in zip(all_plans, chosen, strict=True)]
        )
        for name, entry in metadata.state_dict_metadata.items():
            if isinstance(entry, TensorStorageMetadata):
                covered = sum(each.sizes.numel() for each in entry.chunks)
                if covered != entry.size.numel():
                    raise ValueError(f"{name}: the ranks' pieces hold {covered} of {entry.size.numel()} elements")
        if self.flatten_state_dict:
            merged: dict[str, Any] = {}
            for plan in all_plans:
                merged.update(plan.planner_data or {})
            metadata = dataclasses.replace(metadata, planner_data=merged)
        return plans, dataclasses.replace(metadata, version=_VERSION)

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> torch.Tensor | io.BytesIO:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The piece of a tensor, or the object, that an index names; a planner may have it elsewhere."""
        value = self.state_dict[index.fqn]
        return _local_data(value, index) if isinstance(value, torch.Tensor) else value

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        """The form that is written of it: tensors as they are, other objects as bytes; a planner may write them otherwise."""
        if write_item.type is not WriteItemType.BYTE_IO:
            return object
        stream = io.BytesIO()
        torch.save(object, stream)
        return stream


def _once(plans: list[SavePlan], lowest: bool) -> list[list[WriteItem]]:
    """The items of each rank, of which none is another rank's too."""
    owners: dict[MetadataIndex, list[int]] = {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            owners.setdefault(item.index, []).append(rank)
    load = [0] * len(plans)
    chosen: dict[MetadataIndex, int] = {}
    sizes = {item.index: item.tensor_storage_size() or 1 for plan in plans for item in plan.items}
    for index, ranks in owners.items():
        rank = min(ranks) if lowest else min(ranks, key=lambda each: (load[each], each))
        chosen[index] = rank
        load[rank] += sizes[index]
    return [[item for item in plan.items if chosen[item.index] == rank] for rank, plan in enumerate(plans)]


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The plans of all ranks, and the description of a checkpoint that they make together.

    With `rewrite_index_hints` the items say how many pieces of their tensor stand before them. ValueError where ranks give a tensor
    different sizes.

    >>> from mindtorch_v2.distributed.checkpoint import default_planner
    >>> plan = default_planner.create_default_local_save_plan({"weight": torch.ones(2)}, is_coordinator=True)
    >>> _, metadata = default_planner.create_default_global_save_plan([plan])
    >>> metadata.state_dict_metadata["weight"].size
    torch.Size([2])
    """
    metadata: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        numbered = []
        for item in plan.items:
            data = item.tensor_data
            if data is None:
                metadata[item.index.fqn] = BytesStorageMetadata()
                numbered.append(item)
                continue
            entry = metadata.setdefault(item.index.fqn, TensorStorageMetadata(data.properties, data.size, []))
            if entry.size != data.size:
                raise ValueError(f"{item.index.fqn} is of size {entry.size} on one rank and {data.size} on another")
            if rewrite_index_hints:
                index = dataclasses.replace(item.index)
                object.__setattr__(index, "index", len(entry.chunks))
                item = dataclasses.replace(item, index=index)
            entry.chunks.append(data.chunk)
            numbered.append(item)
        plans.append(dataclasses.replace(plan, items=numbered))
    return plans, Metadata(metadata)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans of all ranks as they are: each reads what it needs.

    >>> from mindtorch_v2.distributed.checkpoint.default_planner import create_default_global_load_plan
    >>> create_default_global_load_plan([])
    []
    """
    return all_plans


def create_default_local_load_plan(state_dict: dict[str, Any], metadata: Metadata, strict: bool = True) -> LoadPlan:
    """A plan of all that a rank needs to fill its pieces. RuntimeError for a name that the checkpoint has not, if `strict`.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> from mindtorch_v2.distributed.checkpoint.default_planner import create_default_local_load_plan
    >>> state = {"weight": torch.tensor([1.0, 2.0])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = dcp.save(state, checkpoint_id=folder)
    >>> [(item.dest_index.fqn, item.lengths) for item in create_default_local_load_plan(state, saved).items]
    [('weight', torch.Size([2]))]
    """
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(entry, TensorStorageMetadata) and isinstance(value, torch.Tensor) and entry.size != value.size():
            raise ValueError(f"Size mismatch between saved {entry.size} and current: {value.size()} for {name}")
        items += _create_read_items(name, entry, value)
    return LoadPlan(items)


class DefaultLoadPlanner(LoadPlanner):
    """Read into the tensors of a state dictionary, in place; objects are put there.

    Args:
        flatten_state_dict, flatten_sharded_tensors: nested dictionaries are taken apart; as in PyTorch by default.
        allow_partial_load: whether names that the checkpoint has not are left as they are.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> state = {"weight": torch.tensor([1.0, 2.0])}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save(state, checkpoint_id=folder)
    ...     wanted = {"weight": torch.zeros(2), "bias": torch.zeros(1)}
    ...     dcp.load(wanted, checkpoint_id=folder, planner=dcp.DefaultLoadPlanner(allow_partial_load=True))
    >>> wanted
    {'weight': tensor([1., 2.]), 'bias': tensor([0.])}
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True, allow_partial_load: bool = False
    ) -> None:
        self.flatten_state_dict, self.allow_partial_load = flatten_state_dict, allow_partial_load
        self.mappings: dict[str, Any] = {}

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        self.original_state_dict = state_dict
        if self.flatten_state_dict:
            state_dict, self.mappings = flatten_state_dict(state_dict)
        self.state_dict, self.metadata, self.is_coordinator = state_dict, metadata, is_coordinator

    def create_local_plan(self) -> LoadPlan:
        if self.metadata is None:
            raise AssertionError("the planner has no metadata: set_up_planner gives it")
        return create_default_local_load_plan(self.state_dict, self.metadata, not self.allow_partial_load)

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return global_plan

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        loaded = torch.load(value, weights_only=False)
        name = read_item.dest_index.fqn
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> torch.Tensor:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def lookup_tensor(self, index: MetadataIndex) -> torch.Tensor:
        """The piece of a tensor that an index names; a planner may have it elsewhere."""
        return _local_data(self.state_dict[index.fqn], index)

    def transform_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> torch.Tensor:
        """The part of a piece that an item is read into."""
        for dim, (start, length) in enumerate(zip(read_item.dest_offsets, read_item.lengths, strict=True)):
            if tensor.shape[dim] != length:
                tensor = tensor.narrow(dim, start, length)
        return tensor

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        pass


class _EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Fill an empty state dictionary with all that a checkpoint has, whole.

    Args:
        keys: names, or beginnings of names up to a dot, that are wanted; all if None.
    """

    def __init__(self, keys: set[str] | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keys = keys

    def _wanted(self, name: str, path: Any) -> bool:
        if self.keys is None or name in self.keys:
            return True
        return any(".".join(map(str, path[:count])) in self.keys for count in range(1, len(path) + 1))

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        assert metadata is not None and not state_dict
        for name, entry in metadata.state_dict_metadata.items():
            path = (metadata.planner_data or {}).get(name, (name,))
            if self._wanted(name, path):
                value: Any = None
                if isinstance(entry, TensorStorageMetadata):
                    value = torch.empty(entry.size, dtype=entry.properties.dtype)
                set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)
