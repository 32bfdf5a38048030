"""Steps that all ranks take together, and that end with the same errors on all of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed.checkpoint.api import CheckpointException, wrapped

__all__ = ["Ranks"]


class _Failed:
    def __init__(self, error: BaseException) -> None:
        problem, trace = wrapped(error)
        try:
            pickle.loads(pickle.dumps(problem))
        except Exception:  # noqa: BLE001  (an error that cannot be sent is told by its text)
            problem = RuntimeError(f"{type(error).__name__}: {error}")
        self.what = problem, trace


class Ranks:
    """The ranks that save or load together; one alone where there is no process group.

    Args:
        group: their group; all by default.
        alone: whether this rank does it for itself.
    """

    def __init__(self, group: Any, alone: bool) -> None:
        self.group, self.alone = group, alone or not world.is_initialized()
        self.rank = 0 if self.alone else world.get_rank(group)
        self.is_coordinator = self.rank == 0

    def _root(self) -> int:
        return world.get_global_rank(world.resolve(self.group), 0)

    def together(self, step: str, each: Callable[[], Any], once: Callable[[list[Any]], list[Any]]) -> Any:
        """Gather what `each` gives on every rank, hand the list to `once` on the coordinator, and scatter its answers."""
        mine = _tried(each)
        given = self._gathered(mine)
        answers: Any = None
        if self.is_coordinator:
            failures = _failures(given)
            if not failures:
                made = _tried(lambda: once(given))
                failures = {0: made.what} if isinstance(made, _Failed) else {}
            problem = CheckpointException(step, failures) if failures else None
            answers = [problem] * len(given) if problem is not None else made
        answer = self._scattered(answers)
        if isinstance(answer, CheckpointException):
            raise answer
        return answer

    def _gathered(self, value: Any) -> Any:
        if self.alone:
            return [value]
        given = [None] * world.get_world_size(self.group) if self.is_coordinator else None
        objects.gather_object(value, given, self._root(), self.group)
        return given

    def _scattered(self, values: Any) -> Any:
        if self.alone:
            return values[0]
        made: list[Any] = [None]
        objects.scatter_object_list(made, values, self._root(), self.group)
        return made[0]


def _tried(step: Callable[[], Any]) -> Any:
    try:
        return step()
    except Exception as error:  # noqa: BLE001  (all ranks are told)
        return _Failed(error)


def _failures(given: list[Any]) -> dict[int, Any]:
    return {rank: each.what for rank, each in enumerate(given) if isinstance(each, _Failed)}
