"""Steps that all ranks take together, and that end with the same errors on all of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed import _operations
from mindtorch_v2.distributed.checkpoint.api import CheckpointException, wrapped
from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
from mindtorch_v2.distributed.tensor._api import DTensor

__all__ = ["find_state_dict_object", "find_tensor_shard"]


class _Failed:
    def __init__(self, error: BaseException) -> None:
        problem, trace = wrapped(error)
        try:
            pickle.loads(pickle.dumps(problem))
        except Exception:  # noqa: BLE001  (an error that cannot be sent is told by its text)
            problem = RuntimeError(f"{type(error).__name__}: {error}")
        self.what = problem, trace


class _DistWrapper:
    """The ranks that save or load together; one alone where there is no process group.

    Args:
        group: their group; all by default.
        use_dist: whether the ranks work together, and not this one for itself.
        coordinator_rank: which rank of the group decides.
    """

    def __init__(self, group: Any, use_dist: bool, coordinator_rank: int) -> None:
        self.group, self.use_dist = group, use_dist and world.is_initialized()
        self.coordinator_rank = coordinator_rank
        self.rank = world.get_rank(group) if self.use_dist else 0
        self.is_coordinator = not self.use_dist or self.rank == coordinator_rank

    def get_rank(self) -> int:
        """This rank's number in the group; 0 alone."""
        return self.rank

    def get_world_size(self) -> int:
        """How many ranks there are."""
        return world.get_world_size(self.group) if self.use_dist else 1

    def barrier(self) -> None:
        """Wait for the other ranks."""
        if self.use_dist:
            _operations.barrier(self.group)

    def reduce_scatter(
        self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], list[Any]]
    ) -> Any:
        """Gather what `map_fun` gives on every rank, hand the list to `reduce_fun` on the coordinator, scatter its answers.

        CheckpointException on all ranks if either fails.
        """
        given = self.gather_object(_tried(map_fun))
        answers: Any = None
        if given is not None:
            answer = self._decided(step, given, reduce_fun)
            answers = [answer] * len(given) if isinstance(answer, CheckpointException) else answer
        return _raised(self.scatter_object(answers))

    def all_reduce(self, step: str, map_fun: Callable[[], Any], reduce_fun: Callable[[list[Any]], Any]) -> Any:
        """Like `reduce_scatter`, with one answer for all ranks."""
        given = self.gather_object(_tried(map_fun))
        return _raised(self.broadcast_object(None if given is None else self._decided(step, given, reduce_fun)))

    def all_gather(self, step: str, map_fun: Callable[[], Any]) -> list[Any]:
        """The results of `map_fun` on every rank, on all of them. CheckpointException if one fails."""
        given = self.all_gather_object(_tried(map_fun))
        return _raised(self._decided(step, given, list))

    def broadcast(self, step: str, map_fun: Callable[[], Any]) -> Any:
        """The result of `map_fun` on the coordinator, on all ranks. CheckpointException if it fails."""
        answer = self._decided(step, [_tried(map_fun)], lambda made: made[0]) if self.is_coordinator else None
        return _raised(self.broadcast_object(answer))

    @staticmethod
    def _decided(step: str, given: list[Any], decide: Callable[[list[Any]], Any]) -> Any:
        """The decision from what the ranks gave; a CheckpointException if one of them, or this, failed."""
        failures = _get_failure_dict(given)
        if not failures:
            made = _tried(lambda: decide(given))
            if not isinstance(made, _Failed):
                return made
            failures = {0: made.what}
        return CheckpointException(step, failures)

    def _root(self) -> int:
        return world.get_global_rank(world.resolve(self.group), self.coordinator_rank)

    def gather_object(self, object: Any) -> list[Any] | None:
        """The objects of all ranks on the coordinator, None on the others."""
        if not self.use_dist:
            return [object]
        given = [None] * self.get_world_size() if self.is_coordinator else None
        objects.gather_object(object, given, self._root(), self.group)
        return given

    def all_gather_object(self, object: Any) -> list[Any]:
        """The objects of all ranks."""
        given: list[Any] = [object] * self.get_world_size()
        if self.use_dist:
            objects.all_gather_object(given, object, self.group)
        return given

    def broadcast_object(self, object: Any) -> Any:
        """The coordinator's object."""
        made = [object]
        if self.use_dist:
            objects.broadcast_object_list(made, self._root(), self.group)
        return made[0]

    def scatter_object(self, object_list: list[Any] | None) -> Any:
        """This rank's of the coordinator's objects."""
        if not self.use_dist:
            assert object_list is not None
            return object_list[0]
        made: list[Any] = [None]
        objects.scatter_object_list(made, object_list, self._root(), self.group)
        return made[0]


def _raised(answer: Any) -> Any:
    if isinstance(answer, CheckpointException):
        raise answer
    return answer


def _tried(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except Exception as error:  # noqa: BLE001  (all ranks are told)
        return _Failed(error)


def _get_failure_dict(results: list[Any]) -> dict[int, Any]:
    """The errors among the ranks' results, each with its traceback, by rank."""
    return {rank: each.what for rank, each in enumerate(results) if isinstance(each, _Failed)}


def find_tensor_shard(tensor: torch.Tensor, index: MetadataIndex) -> torch.Tensor:
    """The piece of a tensor that an index names; ValueError for a piece of what is whole.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
    >>> from mindtorch_v2.distributed.checkpoint.utils import find_tensor_shard
    >>> find_tensor_shard(torch.ones(2), MetadataIndex("weight", torch.Size([0])))
    tensor([1., 1.])
    """
    if hasattr(tensor, "__get_tensor_shard__"):
        return tensor.__get_tensor_shard__(index)
    if isinstance(tensor, DTensor):
        return tensor._local_tensor
    if index.offset is not None and index.offset != torch.Size([0] * tensor.dim()):
        raise _no_pieces(index)
    return tensor


def find_state_dict_object(state_dict: dict[str, Any], index: MetadataIndex) -> Any:
    """The object or the piece of a tensor that an index names; ValueError if there is none.

    >>> from mindtorch_v2.distributed.checkpoint.metadata import MetadataIndex
    >>> from mindtorch_v2.distributed.checkpoint.utils import find_state_dict_object
    >>> find_state_dict_object({"step": 3}, MetadataIndex("step"))
    3
    """
    if index.fqn not in state_dict:
        raise ValueError(f"Could not find FQN: '{index.fqn}'")
    found = state_dict[index.fqn]
    if isinstance(found, torch.Tensor):
        return find_tensor_shard(found, index)
    if index.offset is not None:
        raise _no_pieces(index)
    return found


def _no_pieces(index: MetadataIndex) -> ValueError:
    return ValueError(f"FQN: '{index.fqn}' is not a ShardedTensor, can't find by offset: '{index.offset}'")
