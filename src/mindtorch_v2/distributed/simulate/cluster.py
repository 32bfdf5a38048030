"""Clusters that are described only, and how long a collective takes on one.

A link carries so many bytes a second each way, and the first byte comes after the latency. A rank's link leads to the other ranks of its
node; a node's, which its ranks share, to other nodes. A collective goes in turns, each as long as its busiest link needs.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import tomllib
from collections.abc import Sequence
from typing import Any

from mindtorch_v2.distributed._gloo import MOST_DIRECT, SMALL

__all__ = ["Cluster", "Link"]


@dataclasses.dataclass(frozen=True)
class Link:
    """A link: bytes a second each way, and seconds until the first one comes."""

    bandwidth: float
    latency: float = 0.0

    def __post_init__(self) -> None:
        if self.bandwidth <= 0 or self.latency < 0:
            raise ValueError(f"a link has a bandwidth above 0 and a latency of at least 0, not {self}")


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Nodes with some ranks each.

    Args:
        between: the link of each node to the others.
        inside: the link of each rank to those of its node; by default nothing is sent there in no time.
        ranks_per_node: ranks of a node have consecutive numbers.
        engine: "gloo", whose ways depend on how many ranks there are, or "tree", which are those of MPI's and vendors' libraries: first
            in each node, then between nodes by halves.
        overhead: seconds that a rank needs for each message.
        combine: bytes a second that a rank adds up.
        compute: how many times as long as where it was recorded computing takes.
        jitter: the standard deviation of the computing time of a rank, as a part of it: all wait for the slowest.
    """

    between: Link
    inside: Link = Link(math.inf)
    ranks_per_node: int = 1
    engine: str = "tree"
    overhead: float = 0.0
    combine: float = math.inf
    compute: float = 1.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        if self.engine not in ("gloo", "tree"):
            raise ValueError(f'the engine of a cluster is "gloo" or "tree", not {self.engine!r}')
        if self.ranks_per_node < 1:
            raise ValueError(f"a node has at least one rank, not {self.ranks_per_node}")

    @classmethod
    def load(cls, path: str) -> Cluster:
        """Read a TOML file: tables `between` and `inside` with `bandwidth` and `latency`, the other fields beside them. ValueError if it is none."""
        with open(path, "rb") as file:
            found: dict[str, Any] = tomllib.load(file)
        try:
            return cls(**found | {name: Link(**found[name]) for name in ("between", "inside") if name in found})
        except TypeError as error:
            raise ValueError(f"{path} describes no cluster: {error}") from None

    def slowest(self, ranks: int) -> float:
        """How many times the usual computing time the slowest of some ranks needs: the expected largest of that many normal draws, about."""
        return self.compute * (1 + self.jitter * math.sqrt(2 * math.log(max(ranks, 1))))

    def message(self, nbytes: int, source: int, target: int) -> float:
        """Seconds of a message between two ranks of the job."""
        link = self.inside if source // self.ranks_per_node == target // self.ranks_per_node else self.between
        return link.latency + nbytes / link.bandwidth + self.overhead

    def collective(self, kind: str, nbytes: int, members: Sequence[int]) -> float:
        """Seconds of a collective among ranks of the job.

        Args:
            kind: "all_reduce", "broadcast", "reduce", "all_gather", "gather", "scatter", "reduce_scatter", "all_to_all", "barrier".
            nbytes: of the whole: what is combined, or what all parts are together.
            members: the ranks.
        """
        if len(members) < 2:
            return 0.0
        nodes = collections.Counter(rank // self.ranks_per_node for rank in members)
        ways = _Ways(self, len(members), len(nodes), max(nodes.values()))
        if self.engine == "gloo":
            return ways.direct(kind, nbytes) if len(members) <= MOST_DIRECT else ways.round(kind, nbytes)
        return ways.tree(kind, nbytes)


class _Ways:
    """How a collective goes among `size` ranks on `nodes` nodes, with at most `here` on each."""

    def __init__(self, cluster: Cluster, size: int, nodes: int, here: int) -> None:
        self.cluster, self.size, self.nodes, self.here = cluster, size, nodes, here

    def _turn(self, between: float, inside: float, messages: int) -> float:
        """Seconds in which a node's link carries `between` bytes and a rank's `inside`, and a rank sends so many messages."""
        cluster = self.cluster
        latency = cluster.between.latency if self.nodes > 1 else cluster.inside.latency
        longest = max(between / cluster.between.bandwidth, inside / cluster.inside.bandwidth)
        return longest + latency + messages * cluster.overhead

    def _combined(self, kind: str, nbytes: float) -> float:
        return nbytes / self.cluster.combine if kind in ("all_reduce", "reduce", "reduce_scatter") else 0.0

    def direct(self, kind: str, nbytes: int) -> float:
        """Everybody sends to everybody, or one to all."""
        others, away = self.size - 1, self.size - self.here
        part = nbytes / self.size

        def everybody(piece: float) -> float:
            return self._turn(self.here * away * piece, (self.here - 1) * piece, others)

        def one(piece: float) -> float:
            return self._turn(away * piece, (self.here - 1) * piece, others)

        if kind == "all_reduce" and nbytes > SMALL:
            seconds = 2 * everybody(part)
        elif kind in ("all_reduce", "barrier"):
            seconds = everybody(nbytes)
        elif kind in ("broadcast", "reduce"):
            seconds = one(nbytes)
        elif kind in ("gather", "scatter"):
            seconds = one(part)
        elif kind == "all_to_all":
            seconds = everybody(part / self.size)
        else:
            seconds = everybody(part)
        return seconds + self._combined(kind, nbytes)

    def round(self, kind: str, nbytes: int) -> float:
        """Rings for what is large, trees for what is small; what is neither goes directly."""
        part, around = nbytes / self.size, self.size - 1
        levels = math.ceil(math.log2(self.size))
        if kind == "all_reduce" and nbytes <= SMALL:
            seconds = levels * self._turn(self.here * nbytes, nbytes, 1)
        elif kind == "all_reduce":
            seconds = 2 * around * self._turn(part, part, 1)
        elif kind in ("all_gather", "reduce_scatter"):
            seconds = around * self._turn(part, part, 1)
        elif kind in ("broadcast", "reduce", "barrier"):
            seconds = levels * self._turn(self.here * nbytes, nbytes, 1)
        else:
            return self.direct(kind, nbytes)
        return seconds + self._combined(kind, nbytes)

    def tree(self, kind: str, nbytes: int) -> float:
        """In each node first, then between nodes, in as many turns as the number can be halved; both ways for all_reduce."""
        if kind in ("all_to_all", "gather", "scatter"):
            return self.direct(kind, nbytes)
        cluster = self.cluster
        both = 2 if kind == "all_reduce" else 1
        seconds = self._combined(kind, nbytes)
        for link, count in ((cluster.inside, self.here), (cluster.between, self.nodes)):
            if count > 1:
                turns = both * math.ceil(math.log2(count))
                seconds += (
                    turns * (link.latency + cluster.overhead) + both * (count - 1) / count * nbytes / link.bandwidth
                )
        return seconds
