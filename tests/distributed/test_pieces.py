"""Tensors of pieces, and the parts of checkpoints that libraries build upon: Megatron's do."""

import dataclasses
import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed import checkpoint
from mindtorch_v2.distributed._shard.metadata import ShardMetadata
from mindtorch_v2.distributed._shard.sharded_tensor import (
    Shard,
    ShardedTensor,
    ShardedTensorMetadata,
    TensorProperties,
    init_from_local_shards,
)
from mindtorch_v2.distributed.checkpoint._nested_dict import flatten_state_dict, unflatten_state_dict
from mindtorch_v2.distributed.checkpoint._traverse import get_element, traverse_state_dict
from mindtorch_v2.distributed.checkpoint.api import CheckpointException
from mindtorch_v2.distributed.checkpoint.metadata import ChunkStorageMetadata, Metadata
from mindtorch_v2.distributed.checkpoint.planner import SavePlan, WriteItem, WriteItemType
from mindtorch_v2.distributed.checkpoint.planner_helpers import _create_write_items
from mindtorch_v2.distributed.checkpoint.resharding import _shards_get_overlap_region_wrt_saved_tensor
from mindtorch_v2.distributed.checkpoint.utils import _DistWrapper
from mindtorch_v2.distributed.remote_device import _remote_device


@pytest.fixture
def alone() -> Any:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def _whole(*starts: int) -> ShardedTensor:
    """Four rows of three as pieces from these rows on."""
    rows, ends = torch.arange(12.0).view(4, 3), [*starts[1:], 4]
    pieces = [
        Shard.from_tensor_and_offsets(rows[start:end].clone(), [start, 0], 0)
        for start, end in zip(starts, ends, strict=True)
    ]
    described = ShardedTensorMetadata([each.metadata for each in pieces], torch.Size([4, 3]), TensorProperties())
    return ShardedTensor._init_from_local_shards_and_global_metadata(pieces, described)


def test_a_tensor_of_pieces_says_what_it_is() -> None:
    whole = _whole(0, 2)
    assert isinstance(whole, torch.Tensor) and whole.size() == torch.Size([4, 3]) and whole.size(-1) == 3
    assert whole.dtype is torch.float32 and not whole.requires_grad and whole.device == torch.device("cpu")
    assert [each.metadata.shard_offsets for each in whole.local_shards()] == [[0, 0], [2, 0]]
    assert whole.metadata().size == (4, 3) and whole.detach() is whole
    with pytest.raises(NotImplementedError, match="Only single local shard is supported. Number of shards: 2"):
        whole.local_tensor()
    with pytest.raises(RuntimeError, match="has pieces and no operators"):
        whole + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [1, 2]), r"same number of elements, found 1 and \[1, 2\]|found 1 and 2"),
        (([-1], [1]), "shard_offsets should be >=0"),
        (([0], [-1]), "shard_sizes should be >= 0"),
    ],
)
def test_pieces_that_cannot_be(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ShardMetadata(*arguments)


def test_pieces_that_are_not_as_is_said() -> None:
    piece = Shard.from_tensor_and_offsets(torch.ones(2, dtype=torch.float16), [0], 0)
    make = ShardedTensor._init_from_local_shards_and_global_metadata
    described = ShardedTensorMetadata([piece.metadata], torch.Size([2]), TensorProperties())
    with pytest.raises(
        ValueError, match=r"tensor property dtype=torch.float32, local shard tensor dtype=torch.float16"
    ):
        make([piece], described)
    with pytest.raises(RuntimeError, match=r"Number of local shards \(0\) does not match .* \(1\) on rank \(0\)"):
        make([], described)
    with pytest.raises(ValueError, match=r"Found shard tensor size: \[2\], metadata.shard_lengths: \[3\]"):
        Shard(torch.ones(2), ShardMetadata([0], [3], "rank:0/cpu"))


def test_pieces_of_all_processes_are_gathered(alone: Any) -> None:
    rows = torch.arange(6.0).view(3, 2)
    pieces = [Shard.from_tensor_and_offsets(rows[:1], [0, 0], 0), Shard.from_tensor_and_offsets(rows[1:], [1, 0], 0)]
    made, out = init_from_local_shards(pieces, 3, 2), torch.zeros(3, 2)
    made.gather(0, out)
    assert out.equal(rows)
    with pytest.raises(ValueError, match="hold 6 elements, but a tensor of size"):
        init_from_local_shards(pieces, [4, 2])


@pytest.mark.parametrize(
    ("words", "worker", "rank", "device", "text"),
    [
        ("rank:1/cuda", None, 1, "cuda", "rank:1/cuda"),
        ("rank:0/cpu", None, 0, "cpu", "rank:0/cpu"),
        ("cuda:1", None, None, "cuda:1", "cuda:1"),
        ("trainer/cpu", "trainer", None, "cpu", "trainer/cpu"),
        ("trainer", "trainer", None, "cpu", "trainer/cpu"),
    ],
)
def test_devices_of_other_processes(words: str, worker: Any, rank: Any, device: str, text: str) -> None:
    made = _remote_device(words)
    assert (made.worker_name(), made.rank(), made.device(), repr(made)) == (worker, rank, torch.device(device), text)
    assert made == _remote_device(words) and hash(made) == hash(_remote_device(words))


@pytest.mark.parametrize("words", ["rank:x/cpu", "a/b/c", "/cpu", "worker/"])
def test_words_that_are_no_device_of_another_process(words: str) -> None:
    with pytest.raises(ValueError, match="Could not parse remote_device"):
        _remote_device(words)


def test_pieces_are_saved_and_loaded_by_other_cuts(tmp_path: Path) -> None:
    saved = checkpoint.save({"weight": _whole(0, 2), "step": 3}, checkpoint_id=tmp_path)
    assert len(saved.state_dict_metadata["weight"].chunks) == 2
    plain = {"weight": torch.zeros(4, 3), "step": 0}
    checkpoint.load(plain, checkpoint_id=tmp_path)
    assert plain["weight"].equal(torch.arange(12.0).view(4, 3)) and plain["step"] == 3
    cut = _whole(0, 1, 3)
    for each in cut.local_shards():
        each.tensor.zero_()
    checkpoint.load({"weight": cut}, checkpoint_id=tmp_path)
    assert torch.cat([each.tensor for each in cut.local_shards()]).equal(plain["weight"])


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_pytorch_reads_pieces(tmp_path: Path) -> None:
    checkpoint.save({"weight": _whole(0, 1)}, checkpoint_id=tmp_path)
    program = (
        "import sys, torch, torch.distributed.checkpoint as dcp; state = {'weight': torch.zeros(4, 3)}; "
        "dcp.load(state, checkpoint_id=sys.argv[1]); print(state['weight'].tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == torch.arange(12.0).view(4, 3).tolist()


@dataclasses.dataclass(frozen=True)
class _Plan(SavePlan):
    """A library's plan, with more to keep."""

    more: Any = None


class _Keeping(checkpoint.DefaultSavePlanner):
    """A planner that writes bytes as they are and leaves its plans in the metadata, as Megatron does."""

    def create_local_plan(self) -> SavePlan:
        items = [item for name, value in self.state_dict.items() for item in _create_write_items(name, value)]
        return _Plan(items, more={"weight": 1})

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        plans, metadata = super().create_global_plan(all_plans)
        metadata.all_plans = all_plans  # type: ignore[attr-defined]  # (what the library adds)
        return plans, metadata

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:
        return object


def test_libraries_keep_plans_of_their_own_in_the_metadata(tmp_path: Path) -> None:
    stream = io.BytesIO()
    torch.save("text", stream)
    state = {"weight": torch.ones(2), "object": stream}
    checkpoint.save(state, checkpoint_id=tmp_path, planner=_Keeping(flatten_state_dict=False))
    found = checkpoint.FileSystemReader(tmp_path).read_metadata()
    (plan,) = found.all_plans  # type: ignore[attr-defined]  # (what the library added)
    assert type(plan) is _Plan and plan.more == {"weight": 1} and plan.items[1].type is WriteItemType.BYTE_IO
    loaded = {"object": ""}
    checkpoint.load(loaded, checkpoint_id=tmp_path, planner=checkpoint.DefaultLoadPlanner(flatten_state_dict=False))
    assert loaded == {"object": "text"}


def test_paths_of_nested_dictionaries_are_pytorchs() -> None:
    value = torch.tensor(1)
    nested = {1: {"a": value}, "b": [1, [2, 3]], "c": [1, [value]], "d": (1, value), "f": {}, "g": [], "i": [{"z": 1}]}
    found: list[Any] = []
    traverse_state_dict(nested, lambda path, _: found.append(path))
    assert found == [("1", "a"), ("b",), ("c", 0), ("c", 1, 0), ("d",), ("g",), ("i", 0, "z")]
    found.clear()
    traverse_state_dict(
        {"c": [1, "q"], "b": [1]}, lambda path, _: found.append(path), lambda each: isinstance(each, str)
    )
    assert found == [("c", 0), ("c", 1), ("b",)]
    assert get_element({"a": [1, {"b": 2}]}, ("a", 1, "b")) == 2
    assert get_element({"a": [1]}, ("a", 5), 9) == get_element({"a": [1]}, ("a", "x"), 9) == 9
    assert unflatten_state_dict(*flatten_state_dict({"a": {"b": [value, 2]}})) == {"a": {"b": [value, 2]}}


def test_what_two_pieces_have_in_common() -> None:
    def piece(offsets: list[int], sizes: list[int]) -> ChunkStorageMetadata:
        return ChunkStorageMetadata(torch.Size(offsets), torch.Size(sizes))

    common = _shards_get_overlap_region_wrt_saved_tensor
    assert common(piece([2, 0], [4, 3]), piece([4, 1], [4, 2])) == [(0, 2, 0, 2), (1, 1, 0, 2)]
    assert common(piece([], []), piece([], [])) == []
    assert common(piece([0], [2]), piece([2], [2])) == [(0, 2, 0, 0)]


def test_a_rank_alone_decides_for_itself() -> None:
    ranks = _DistWrapper(None, True, 0)
    ranks.barrier()
    assert (ranks.get_rank(), ranks.get_world_size(), ranks.is_coordinator) == (0, 1, True)
    assert ranks.reduce_scatter("plan", lambda: 1, lambda given: [given[0] + 1]) == 2
    assert ranks.all_reduce("plan", lambda: 1, sum) == 1
    assert ranks.all_gather("plan", lambda: 4) == [4] and ranks.broadcast("plan", lambda: 5) == 5
    for call in (ranks.all_gather, ranks.broadcast):
        with pytest.raises(CheckpointException, match="ZeroDivisionError"):
            call("plan", lambda: 1 // 0)


def test_a_rank_of_a_group_decides_as_one_alone(alone: Any) -> None:
    ranks = _DistWrapper(None, True, 0)
    ranks.barrier()
    assert ranks.use_dist and ranks.gather_object(1) == ranks.all_gather_object(1) == [1]
    assert ranks.broadcast_object(2) == 2 and ranks.scatter_object([3]) == 3
    assert ranks.reduce_scatter("plan", lambda: 1, lambda given: [given[0] + 1]) == 2


def test_groups_are_read_by_the_names_that_libraries_know(alone: Any) -> None:
    world = dist.distributed_c10d._world
    group = dist.new_group([0])
    assert world.pg_map[group][0] == "gloo" and world.pg_names[group] == group.group_name
    assert world.pg_group_ranks[group] == {0: 0} and world.pg_backend_config[group].startswith("cpu:gloo")


def test_pytorchs_native_part_has_the_names_of_stores_and_groups() -> None:
    native = importlib.import_module("mindtorch_v2._C._distributed_c10d")
    for name in ("PrefixStore", "ProcessGroup", "ReduceOp", "Store", "Work"):
        assert getattr(native, name) is getattr(dist, name)
