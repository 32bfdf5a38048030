"""Jobs whose number of machines changes: launchers that meet at a store, number themselves, and start again together.

Each launcher joins a round. The first of a round closes it when as many have come as may, or as many as must and nobody else for a
while. Then all start their processes. A round ends for all when a process fails somewhere, when a launcher is not heard of, or when
a new one comes and there is room; those that are left meet in the next one. Processes find, in the next round, what the last one
saved: a checkpoint is the program's own business.

The store is at the endpoint, and is the first launcher's that runs there; when it goes, the job is over.
"""

from __future__ import annotations

import contextlib
import datetime
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from mindtorch_v2.distributed._errors import DistNetworkError, DistStoreError
from mindtorch_v2.distributed._stores import PrefixStore
from mindtorch_v2.distributed._tcp_store import TCPStore
from mindtorch_v2.distributed.elastic.multiprocessing.errors import ChildFailedError

__all__ = ["ElasticJob", "Interrupted", "Settings"]

_BEAT = 1.0  # seconds between signs of life
_FAREWELL = 5.0  # seconds that the launcher with the store stays for others that are not through yet


class Interrupted(Exception):
    """The round is over: the processes are to be ended, and the launchers meet again."""


class Settings:
    """Options of how launchers meet.

    Args:
        endpoint: (address, port) of the store.
        least, most: how many machines there may be.
        configuration: `--rdzv_conf`: "last_call_timeout=30,join_timeout=600,keep_alive_interval=5,keep_alive_max_attempt=3".
        max_restarts: how often processes may fail.
    """

    def __init__(
        self, endpoint: tuple[str, int], least: int, most: int, configuration: str = "", max_restarts: int = 0
    ) -> None:
        if not 0 < least <= most:
            raise ValueError(f"--nnodes={least}:{most}: the least number is at least 1, and at most the other one")
        given = dict(part.split("=", 1) for part in configuration.split(",") if "=" in part)
        self.endpoint, self.least, self.most, self.max_restarts = endpoint, least, most, max_restarts
        self.last_call = float(given.get("last_call_timeout", 30))
        self.join_timeout = float(given.get("join_timeout", given.get("timeout", 600)))
        self.silence = float(given.get("keep_alive_interval", 5)) * float(given.get("keep_alive_max_attempt", 3))


class Round:
    """One meeting: how many launchers there are, which this one is, and where the processes' store is to be."""

    def __init__(self, number: int, node: int, nodes: int, address: str, failures: int) -> None:
        self.number, self.node, self.nodes, self.address, self.failures = number, node, nodes, address, failures


class ElasticJob:
    """The rounds of one launcher.

    Args:
        settings: how launchers meet.
        name: the job's; launchers of others do not take part.
        address: this machine's, for the other ones.
    """

    def __init__(self, settings: Settings, name: str, address: str | None = None) -> None:
        self.settings = settings
        self._store = PrefixStore(f"elastic/{name}", self._meet())
        self._address = address or self._own.local_address()

    def _meet(self) -> TCPStore:
        """The store at the endpoint: ours, if nobody has it yet and the address is this machine's."""
        host, port = self.settings.endpoint
        patience = datetime.timedelta(seconds=self.settings.join_timeout)
        try:
            self._own = TCPStore(host, port, is_master=_is_here(host), wait_for_workers=False, timeout=patience)
        except DistNetworkError:
            self._own = TCPStore(host, port, wait_for_workers=False, timeout=patience)
        return self._own

    def run(self, start: Callable[[Round, Callable[[], bool]], None]) -> None:
        """Run rounds until one ends well. `start(round, over)` runs this machine's processes, and raises `Interrupted` when `over()`.

        Raises:
            ChildFailedError: a process of this machine failed, and too many had before.
            RuntimeError: one of another machine did, or too few machines came.
        """
        while True:
            current = self._join()
            life = _Life(self._store, current, self.settings)
            try:
                start(current, life.over)
                life.wait_for_all()
                return
            except ChildFailedError:
                if self._has_failed_for_good(current):
                    raise
                life.end_for_all()
            except Interrupted:
                self._look_for_the_end()
            finally:
                life.close()

    def _has_failed_for_good(self, current: Round) -> bool:
        """Whether a failure is one too many. Those of one round are one: the first is what the others fail of."""
        first = self._store.add(f"{current.number}/failures", 1) == 1
        if self._store.add("failures", int(first)) > self.settings.max_restarts:
            self._store.set("failed", "1")
            return True
        return False

    def _look_for_the_end(self) -> None:
        """RuntimeError if no round follows one that was interrupted."""
        try:
            failed = self._store.check(["failed"])
        except (DistNetworkError, DistStoreError) as error:
            host, port = self.settings.endpoint
            raise RuntimeError(f"the launcher that has the store at [{host}]:{port} is gone ({error})") from None
        if failed:
            raise RuntimeError("processes on another machine failed, more often than --max_restarts allows")

    def close(self) -> None:
        """Leave the store, if this launcher has it when the others have left: they are given some seconds."""
        if self._own._server is not None:
            deadline = time.monotonic() + _FAREWELL
            number = int(self._store.add("round", 0))
            present = int(self._store.get(f"{number}/size")) if self._store.check([f"{number}/size"]) else 1
            while int(self._store.add("left", 0)) < present - 1 and time.monotonic() < deadline:
                time.sleep(0.05)
        else:
            with contextlib.suppress(DistNetworkError, DistStoreError):
                self._store.add("left", 1)
        self._own.close()

    # ---- meeting ----

    def _join(self) -> Round:
        """Take part in the next round, as soon as it begins."""
        deadline = time.monotonic() + self.settings.join_timeout
        while True:
            number = int(self._store.add("round", 0))
            place = self._store.add(f"{number}/joined", 1)
            if place == 1:
                return self._close_round(number, deadline)
            while not self._store.check([f"{number}/size"]):
                self._check_time(deadline, number)
                time.sleep(0.05)
            size = int(self._store.get(f"{number}/size"))
            if place <= size:
                return self._round(number, place - 1, size)
            # Too late for this one: those in it go on, unless there is room for one more.
            self._store.set(f"{number}/waiting", "1")
            while int(self._store.add("round", 0)) == number:
                self._check_time(deadline, number)
                time.sleep(0.05)

    def _close_round(self, number: int, deadline: float) -> Round:
        """Wait for the others, and say how many there are."""
        joined, last = 1, time.monotonic()
        while joined < self.settings.most:
            found = int(self._store.add(f"{number}/joined", 0))
            if found > joined:
                joined, last = found, time.monotonic()
            elif joined >= self.settings.least and time.monotonic() - last > self.settings.last_call:
                break
            self._check_time(deadline, number)
            time.sleep(0.05)
        size = min(joined, self.settings.most)
        self._store.set(f"{number}/address", self._address)
        self._store.set(f"{number}/size", str(size))
        return self._round(number, 0, size)

    def _round(self, number: int, node: int, size: int) -> Round:
        address = self._store.get(f"{number}/address").decode()
        return Round(number, node, size, address, int(self._store.add("failures", 0)))

    def _check_time(self, deadline: float, number: int) -> None:
        if time.monotonic() > deadline:
            came = int(self._store.add(f"{number}/joined", 0))
            raise RuntimeError(
                f"{came} machines came in {self.settings.join_timeout:.0f} s, at least {self.settings.least} are needed"
            )

    def share_port(self, current: Round, port: int | None) -> int:
        """The port of the processes' store in a round: the first machine says it, the others ask."""
        if port is not None:
            self._store.set(f"{current.number}/port", str(port))
        return int(self._store.get(f"{current.number}/port"))


class _Life:
    """A launcher's talk with the others while its processes run, by a thread of its own."""

    def __init__(self, store: Any, current: Round, settings: Settings) -> None:
        self._store, self._round, self._settings = store, current, settings
        self._over, self._closed = threading.Event(), threading.Event()
        self._heard: dict[int, tuple[bytes, float]] = {}
        self._thread = threading.Thread(target=self._watch, name="torch.distributed.elastic", daemon=True)
        self._thread.start()

    def over(self) -> bool:
        """Whether the round has ended."""
        return self._over.is_set()

    def end_for_all(self) -> None:
        """End the round: the next one begins."""
        if int(self._store.add("round", 0)) == self._round.number:
            ended = self._store.add(f"{self._round.number}/ended", 1)
            if ended == 1:
                self._store.add("round", 1)

    def wait_for_all(self) -> None:
        """Return when the processes of all machines are done; Interrupted if the round ends before."""
        number = self._round.number
        self._store.add(f"{number}/done", 1)
        while int(self._store.add(f"{number}/done", 0)) < self._round.nodes:
            if self.over():
                raise Interrupted
            time.sleep(0.05)

    def close(self) -> None:
        """Say and hear nothing more."""
        self._closed.set()
        self._thread.join()

    def _watch(self) -> None:
        number, beat = self._round.number, 0
        while not self._closed.wait(_BEAT / 4):
            try:
                beat += 1
                if beat % 4 == 1:
                    self._store.set(f"{number}/alive/{self._round.node}", str(beat))
                if self._is_over():
                    self._over.set()
                    return
            except (DistNetworkError, DistStoreError):  # the store's launcher is gone
                self._over.set()
                return

    def _is_over(self) -> bool:
        number = self._round.number
        if int(self._store.add("round", 0)) != number or self._store.check(["failed"]):
            return True
        if self._round.nodes < self._settings.most and self._store.check([f"{number}/waiting"]):
            self.end_for_all()
            return True
        if int(self._store.add(f"{number}/done", 0)) > 0:
            return False  # some are through, and say nothing more
        now = time.monotonic()
        for node in range(self._round.nodes):
            key = f"{number}/alive/{node}"
            said = self._store.get(key) if self._store.check([key]) else b""
            before, since = self._heard.get(node, (b"-", now))
            if said != before:
                self._heard[node] = said, now
            elif now - since > self._settings.silence:
                self.end_for_all()
                return True
        return False


def _is_here(host: str) -> bool:
    """Whether an address is one of this machine: whether it can be listened at."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return False
    for family, kind, protocol, _, place in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.bind(place)
                return True
        except OSError:
            continue
    return False
