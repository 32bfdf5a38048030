"""A schedule replayed on a cluster: when each rank computes, waits, and what its links do meanwhile."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any

from mindtorch_v2.distributed.simulate.cluster import Cluster
from mindtorch_v2.distributed.simulate.schedule import Schedule

__all__ = ["Prediction", "predict"]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """Seconds of a step on so many ranks.

    Attributes:
        ranks: how many there are.
        step: of the rank that takes longest.
        compute: that this rank computes.
        communication: in which its collectives and messages are under way.
    """

    ranks: int
    step: float
    compute: float
    communication: float

    @property
    def exposed(self) -> float:
        """Seconds that the rank waits."""
        return self.step - self.compute

    @property
    def hidden(self) -> float:
        """The part of the communication that goes on beside computing."""
        return 1.0 - min(1.0, self.exposed / self.communication) if self.communication else 1.0

    @property
    def efficiency(self) -> float:
        """The part of the step in which the rank computes."""
        return self.compute / self.step if self.step else 1.0

    @property
    def bound_by(self) -> str:
        """The thing of which more would help: "communication" where its links are busy for longer than the rank computes."""
        return "communication" if self.communication > self.compute else "compute"


def predict(schedule: Schedule, cluster: Cluster, ranks: int, grow: Sequence[str] = ()) -> Prediction:
    """Predict how long a step of a schedule takes on some ranks of a cluster.

    The ranks that were recorded are there as often as the number of ranks is theirs. Each computes what it computed: the batch of
    a rank stays the same. Collectives of a group that grows are among as many more ranks, on the same bytes; those of another group
    among as many as they were.

    Args:
        ranks: a multiple of the ranks that were recorded.
        grow: names or descriptions of the groups that grow ("mesh_dp" for the dimension "dp" of a mesh), besides the default
            group and those as large.

    ValueError for a number of ranks that is none, and for a group that the schedule does not name.
    """
    recorded = len(schedule.ranks)
    if ranks < 1 or ranks % recorded:
        raise ValueError(f"{recorded} ranks were recorded: {ranks} is no multiple of them")
    known = {name for name, each in schedule.groups.items()} | {
        each["description"] for each in schedule.groups.values()
    }
    for name in grow:
        if name not in known:
            raise ValueError(f"no group of the schedule is called {name!r}; there are {', '.join(sorted(known))}")
    groups = {name: _Group(name, each, recorded, ranks // recorded, grow) for name, each in schedule.groups.items()}
    return _Replay(schedule, cluster, ranks, groups).run()


class _Group:
    """A group: the recorded ranks in it, and all its ranks on the cluster."""

    def __init__(self, name: str, recorded: dict[str, Any], world: int, factor: int, grow: Sequence[str]) -> None:
        self.recorded: list[int] = recorded["ranks"]
        grows = len(self.recorded) == world or name in grow or recorded["description"] in grow
        step = self.recorded[1] - self.recorded[0] if len(self.recorded) > 1 else world
        size = len(self.recorded) * (factor if grows else 1)
        self.members = [self.recorded[0] + step * each for each in range(size)]
        self.begun: dict[int, int] = collections.Counter()  # recorded rank -> how many of its collectives it has begun
        self.waiting: dict[int, dict[int, tuple[float, int]]] = {}  # which one -> {rank: (when it began, its number)}


class _Rank:
    """A recorded rank, and how far it is."""

    def __init__(self, events: list[list[Any]]) -> None:
        self.events, self.place = events, 0
        self.clock = self.computed = self.communicated = 0.0
        self.out = self.into = 0.0  # until when its links are busy
        self.ends: dict[int, float] = {}  # number -> when it is through


class _Replay:
    def __init__(self, schedule: Schedule, cluster: Cluster, size: int, groups: dict[str, _Group]) -> None:
        self.schedule, self.cluster, self.size, self.groups = schedule, cluster, size, groups
        self.ranks = [_Rank(events) for events in schedule.ranks]
        self.slowest = cluster.slowest(size)
        self.sent: dict[Any, collections.deque[float]] = collections.defaultdict(
            collections.deque
        )  # (from, to) -> when each comes
        self.expected: dict[Any, collections.deque[tuple[int, int, float]]] = collections.defaultdict(collections.deque)

    def run(self) -> Prediction:
        while any([self._advance(rank) for rank in range(len(self.ranks))]):
            pass
        stuck = [number for number, rank in enumerate(self.ranks) if rank.place < len(rank.events)]
        if stuck:
            raise ValueError(f"the ranks {stuck} of the schedule wait for what no other rank begins")
        longest = max(self.ranks, key=lambda rank: rank.clock)
        parts = (each / self.schedule.steps for each in (longest.clock, longest.computed, longest.communicated))
        return Prediction(self.size, *parts)

    def _advance(self, number: int) -> bool:
        """Go on with a rank as far as that is possible; whether it went anywhere."""
        rank = self.ranks[number]
        before = rank.place
        while rank.place < len(rank.events):
            kind, *rest = rank.events[rank.place]
            if kind == "compute":
                rank.clock += rest[0] * self.slowest
                rank.computed += rest[0] * self.slowest
            elif kind == "begin":
                self._begin(number, *rest)
            elif rest[0] in rank.ends:
                rank.clock = max(rank.clock, rank.ends[rest[0]])
            else:
                break
            rank.place += 1
        return rank.place > before

    def _begin(self, number: int, event: int, kind: str, nbytes: int, name: str, peer: int | None) -> None:
        group, rank = self.groups[name], self.ranks[number]
        if kind == "send" and peer is not None:
            self._send(number, group.recorded[peer], event, nbytes)
        elif kind == "recv" and peer is not None:
            self.expected[group.recorded[peer], number].append((number, event, rank.clock))
            self._deliver(group.recorded[peer], number)
        elif kind == "recv":
            raise ValueError("a message from any rank cannot be replayed: name the source")
        else:
            turn = group.begun[number]
            group.begun[number] += 1
            waiting = group.waiting.setdefault(turn, {})
            waiting[number] = rank.clock, event
            if len(waiting) == len(group.recorded):
                self._collective(kind, nbytes, group, group.waiting.pop(turn))

    def _collective(self, kind: str, nbytes: int, group: _Group, waiting: dict[int, tuple[float, int]]) -> None:
        """All are there: it begins when the links of all are free."""
        seconds = self.cluster.collective(kind, nbytes, group.members)
        members = [self.ranks[each] for each in waiting]
        end = (
            max(max(clock for clock, _ in waiting.values()), *(max(rank.out, rank.into) for rank in members)) + seconds
        )
        for number, (_, event) in waiting.items():
            rank = self.ranks[number]
            rank.out = rank.into = rank.ends[event] = end
            rank.communicated += seconds

    def _send(self, source: int, target: int, event: int, nbytes: int) -> None:
        sender, receiver = self.ranks[source], self.ranks[target]
        seconds = self.cluster.message(nbytes, source, target)
        end = max(sender.clock, sender.out, receiver.into) + seconds
        sender.out = receiver.into = sender.ends[event] = end
        sender.communicated += seconds
        receiver.communicated += seconds
        self.sent[source, target].append(end)
        self._deliver(source, target)

    def _deliver(self, source: int, target: int) -> None:
        """Give what came to what is expected."""
        sent, expected = self.sent[source, target], self.expected[source, target]
        while sent and expected:
            number, event, clock = expected.popleft()
            self.ranks[number].ends[event] = max(sent.popleft(), clock)
