"""Schedules: what the ranks of a job do in one step, as a file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import mindtorch_v2.distributed as dist
from mindtorch_v2.distributed import _groups
from mindtorch_v2.distributed._schedule import Recorder, set_recorder

__all__ = ["Schedule", "record"]

_FORM = 1  # of the file


@dataclasses.dataclass
class Schedule:
    """The recording of a step.

    Attributes:
        steps: how many steps the events are of.
        groups: {name: {"ranks": the ranks of the job in it, "description": its purpose}}.
        ranks: each rank's events, as `_schedule.Recorder` describes them, but that groups are named.
    """

    steps: int
    groups: dict[str, dict[str, Any]]
    ranks: list[list[list[Any]]]

    def save(self, path: str) -> None:
        """Write it to a file."""
        with open(path, "w") as file:
            json.dump({"form": _FORM, **dataclasses.asdict(self)}, file)

    @classmethod
    def load(cls, path: str) -> Schedule:
        """Read a file. ValueError if it is no schedule."""
        with open(path) as file:
            try:
                found = json.load(file)
            except ValueError as error:
                raise ValueError(f"{path} is no schedule: {error}") from None
        if not isinstance(found, dict) or found.pop("form", None) != _FORM:
            raise ValueError(f"{path} is no schedule of the form {_FORM}: simulate.record writes them")
        return cls(**found)

    def kinds(self) -> dict[str, tuple[int, int]]:
        """{kind of collective: (how many rank 0 begins in a step, their bytes)}."""
        found: dict[str, tuple[int, int]] = {}
        for event in self.ranks[0]:
            if event[0] == "begin":
                count, nbytes = found.get(event[2], (0, 0))
                found[event[2]] = count + 1, nbytes + event[3]
        return {kind: (count // self.steps, nbytes // self.steps) for kind, (count, nbytes) in found.items()}


@contextlib.contextmanager
def record(path: str | None = None, steps: int = 1) -> Iterator[Schedule]:
    """Record what runs below it: all ranks of the job do that at the same time.

    Args:
        path: a file, which rank 0 writes at the end.
        steps: how many steps of the training run below it; predictions are of one.

    The schedule that it gives is filled at the end, on rank 0. Computing is what the program does while it waits for no collective,
    on the thread that records: with several ranks on one machine, each should have its own cores. A job of one rank records
    well: what is sent does not depend on how many there are.

    RuntimeError without a process group.
    """
    if not dist.is_initialized():
        raise RuntimeError("simulate.record needs a process group: call init_process_group first")
    made = Schedule(steps, {}, [])
    dist.barrier()
    recorder = Recorder()
    set_recorder(recorder)
    try:
        yield made
        recorder.compute()
    finally:
        set_recorder(None)
    names = [_name(backend, made.groups) for backend in recorder.backends]
    events = [[*each[:4], names[each[4]], each[5]] if each[0] == "begin" else each for each in recorder.events]
    collected: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(collected, (events, made.groups))
    made.ranks = [found for found, _ in collected]
    for _, groups in collected:
        made.groups |= groups
    if path is not None and dist.get_rank() == 0:
        made.save(path)


def _name(backend: Any, groups: dict[str, dict[str, Any]]) -> str:
    """The name of the group of a back end, which is noted."""
    for group in _groups.known_groups():
        if any(each is backend for each in group._backends.values()):
            groups[group.group_name] = {"ranks": list(group._ranks), "description": group.group_desc}
            return group.group_name
    raise RuntimeError("a process group was destroyed while it was recorded")
