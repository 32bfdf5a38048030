"""Harms ranks of a training at random moments, and looks at what the others are told.

    python -m tools.endurance.ranks [--rounds 40] [--kinds kill,stop,delay,partition] [--seed 0] [--ranks 4] [--timeout 4]

A small network trains in pieces on four processes (`fully_shard`, Adam) and saves a distributed checkpoint at each step. In each round it goes
on from the last checkpoint, and at a random moment one rank is

* kill: killed;
* stop: stopped (SIGSTOP), so that its connections stay;
* delay: stopped for less than the time-out: nobody may notice;
* partition: cut off from two of the others, with one of them: the ranks are in two network namespaces then, whose link is put down. It
  needs root, and is left out without.

Every survivor has to end within the time-out, and a margin for a busy machine, with an error that names a rank which was harmed. The
checkpoint that is whole has to load, and the losses after it have to be those of an undisturbed run. The exit status is 1 if
anything of this was not so.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MARGIN = 20.0  # seconds beyond the time-out, for processes that wait for a core
STEPS = 400

_WORKER = """
import datetime, json, os, sys, time
import mindtorch_v2 as torch
from mindtorch_v2.distributed import checkpoint
from mindtorch_v2.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from mindtorch_v2.distributed.fsdp import fully_shard

dist = torch.distributed
rank, size, host, port, folder, timeout, first, last = sys.argv[1:]
rank, size, first, last = int(rank), int(size), int(first), int(last)
said = open(f"{folder}/said.{rank}", "a", buffering=1)
try:
    store = dist.TCPStore(host, int(port), size, rank == 0, datetime.timedelta(seconds=60))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    for layer in (model[0], model[2], model):
        fully_shard(layer)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if first:
        states = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
        checkpoint.load(states, checkpoint_id=f"{folder}/step-{first}")
        set_state_dict(model, optimizer, model_state_dict=states["model"], optim_state_dict=states["optimizer"])
    for step in range(first + 1, last + 1):
        x = torch.randn(size, 4, 8, generator=torch.Generator().manual_seed(step))[rank]
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total, dist.ReduceOp.AVG)
        if step == first + 1:  # all are there, and nobody is harmed before all wait so briefly
            dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=float(timeout)))
            dist.barrier()
        print(json.dumps({"step": step, "loss": total.item()}), file=said)
        if step % int(os.environ.get("SAVE_EVERY", "1")) == 0:
            states = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
            checkpoint.save(states, checkpoint_id=f"{folder}/step-{step}")
    dist.destroy_process_group()
except RuntimeError as error:
    print(json.dumps({"error": str(error), "at": time.time()}), file=said)
    os._exit(3)
"""


class Wrong(AssertionError):
    """A rank hung, was not told, or a checkpoint was lost."""


class Place:
    """Where the ranks run: this host, or two namespaces of it with a link between them."""

    def __init__(self, apart: bool) -> None:
        self.apart, self.names = apart, [f"ranks-{os.getpid()}-{side}" for side in "ab"]
        if apart:
            try:
                self._connect()
            except BaseException:
                self.close()
                raise

    def _connect(self) -> None:
        ends = [f"w{os.getpid()}{side}" for side in "ab"]
        self._ip(f"link add {ends[0]} type veth peer name {ends[1]}")
        for number, (end, name) in enumerate(zip(ends, self.names, strict=True), 1):
            self._ip(f"netns add {name}")
            self._ip(f"link set {end} netns {name} name wire")
            self._ip(f"-n {name} addr add 10.77.0.{number}/24 dev wire")
            self._ip(f"-n {name} link set dev wire up")
            self._ip(f"-n {name} link set dev lo up")

    @staticmethod
    def _ip(arguments: str) -> None:
        subprocess.run(["ip", *arguments.split()], check=True, capture_output=True)

    @property
    def host(self) -> str:
        """The address of the store."""
        return "10.77.0.1" if self.apart else "127.0.0.1"

    def prefix(self, rank: int, size: int) -> list[str]:
        """How a rank's command begins."""
        return ["ip", "netns", "exec", self.names[rank * 2 // size]] if self.apart else []

    def cut(self) -> None:
        """Put the link down."""
        self._ip(f"-n {self.names[0]} link set dev wire down")

    def close(self) -> None:
        """Remove the namespaces; the link goes with them."""
        for name in self.names if self.apart else ():
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _whole(folder: Path) -> int:
    """The step of the last checkpoint that is whole; 0 without one."""
    return max([int(path.parent.name.partition("-")[2]) for path in folder.glob("step-*/.metadata")], default=0)


class Round:
    """One start of all ranks, and what became of them."""

    def __init__(self, folder: Path, place: Place, size: int, timeout: float, last: int = STEPS) -> None:
        self.folder, self.size, self.timeout = folder, size, timeout
        self.first = _whole(folder)
        for path in folder.glob("said.*"):
            path.unlink()
        script = folder / "worker.py"
        script.write_text(_WORKER)
        with socket.socket() as probe:
            probe.bind(("", 0))
            port = probe.getsockname()[1]
        arguments = [place.host, str(port), str(folder), str(timeout), str(self.first), str(last)]
        environment = dict(
            os.environ, OMP_NUM_THREADS="1", MINDTORCH_JOB_TOKEN="of this job", PYTHONPATH=os.pathsep.join(sys.path)
        )
        self.ranks = [
            subprocess.Popen(
                [*place.prefix(rank, size), sys.executable, str(script), str(rank), str(size), *arguments],
                env=environment, stdout=subprocess.DEVNULL, stderr=(folder / f"stderr.{rank}").open("w"),
            )
            for rank in range(size)
        ]  # fmt: skip

    def said(self, rank: int) -> list[dict[str, Any]]:
        """The lines of a rank, but one that is not whole."""
        path = self.folder / f"said.{rank}"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def _words(self) -> str:
        """The last that each rank said, and the last line of its stderr."""
        ends = [
            [str(each) for each in self.said(rank)[-1:]]
            + (self.folder / f"stderr.{rank}").read_text().splitlines()[-1:]
            for rank in range(self.size)
        ]
        return "; ".join(f"rank {rank}: {' '.join(end)[:300]}" for rank, end in enumerate(ends))

    def wait_for_step(self, step: int, seconds: float = 120) -> None:
        """Return when rank 0 has done a step."""
        deadline = time.monotonic() + seconds
        while not any(line.get("step", 0) >= step for line in self.said(0)):
            ended = [rank for rank, process in enumerate(self.ranks) if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise Wrong(f"the ranks {ended} ended by themselves, or none came to step {step}: {self._words()}")
            time.sleep(0.02)

    def survivors_end(self, victims: list[int], harmed: set[int], since: float) -> float:
        """The seconds until all others have ended with an error that names one of `harmed`."""
        deadline = since + self.timeout + MARGIN
        survivors = [rank for rank in range(self.size) if rank not in victims]
        for rank in survivors:
            try:
                status = self.ranks[rank].wait(max(0.1, deadline - time.time()))
            except subprocess.TimeoutExpired:
                raise Wrong(f"rank {rank} hangs {time.time() - since:.1f} s after") from None
            if status != 3:
                raise Wrong(f"rank {rank} ended with {status}, not with an error of its own")
        ends = []
        for rank in survivors:
            error = self.said(rank)[-1]
            named = {int(each) for each in re.findall(r"rank (\d+)", error["error"])} - {rank}
            others = harmed if rank not in harmed or len(harmed) == 1 else set(range(self.size)) - harmed
            if not named & others:
                raise Wrong(f"rank {rank} was told: {error['error']!r}, which names none of {sorted(others)}")
            ends.append(error["at"] - since)
        return max(ends)

    def end(self) -> None:
        """Leave no process behind."""
        for process in self.ranks:
            process.kill()
            process.wait()


def harm(kind: str, folder: Path, place: Place, draw: random.Random, size: int, timeout: float) -> tuple[float, list]:
    """One round; the seconds until the last survivor had ended (0 where none had to), and the losses that were seen."""
    running = Round(folder, place, size, timeout)
    try:
        running.wait_for_step(running.first + 1)
        time.sleep(draw.uniform(0, 0.3))
        victim = draw.randrange(size)
        process, since, took = running.ranks[victim], time.time(), 0.0
        if kind == "kill":
            process.kill()
            took = running.survivors_end([victim], {victim}, since)
        elif kind == "stop":
            process.send_signal(signal.SIGSTOP)
            took = running.survivors_end([victim], {victim}, since)
        elif kind == "delay":
            process.send_signal(signal.SIGSTOP)
            time.sleep(draw.uniform(0.2, 0.5) * timeout)
            process.send_signal(signal.SIGCONT)
            step = max(line.get("step", 0) for line in running.said(0))
            running.wait_for_step(step + 2)
        else:
            place.cut()
            took = running.survivors_end([], set(range((size + 1) // 2)), since)
        return took, [line for rank in range(size) for line in running.said(rank) if "loss" in line]
    finally:
        running.end()


def undisturbed(folder: Path, last: int, size: int) -> dict[int, float]:
    """The losses of a run that nobody harms."""
    folder.mkdir()
    os.environ["SAVE_EVERY"] = "1000000"
    running = Round(folder, Place(False), size, 60.0, last)
    try:
        for process in running.ranks:
            process.wait(300)
        return {line["step"]: line["loss"] for line in running.said(0) if "loss" in line}
    finally:
        running.end()
        del os.environ["SAVE_EVERY"]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.endurance.ranks", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--kinds", default="kill,stop,delay,partition")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=4)
    parser.add_argument("--seconds", type=float, default=0, help="end after so many seconds, however far it is")
    chosen = parser.parse_args()
    kinds = chosen.kinds.split(",")
    if "partition" in kinds and (os.geteuid() != 0 or shutil.which("ip") is None):
        print("partition: left out, it needs root and the command ip", flush=True)
        kinds.remove("partition")
    draw, wrong, counts, started = random.Random(chosen.seed), 0, dict.fromkeys(kinds, 0), time.monotonic()
    longest, seen = dict.fromkeys(kinds, 0.0), []
    with tempfile.TemporaryDirectory(prefix="ranks-") as base:
        folder = Path(base) / "job"
        folder.mkdir()
        for number in range(chosen.rounds):
            if chosen.seconds and time.monotonic() - started > chosen.seconds:
                break
            kind = kinds[number % len(kinds)]
            place = Place(kind == "partition")
            try:
                took, losses = harm(kind, folder, place, draw, chosen.ranks, chosen.timeout)
                longest[kind] = max(longest[kind], took)
                seen += losses
            except Wrong as problem:
                wrong += 1
                print(f"{kind} {number}: {problem}", flush=True)
            finally:
                place.close()
            counts[kind] += 1
        last = _whole(folder)
        expected = undisturbed(Path(base) / "undisturbed", max([last, *(line["step"] for line in seen)]), chosen.ranks)
    different = [
        line for line in seen if abs(line["loss"] - expected[line["step"]]) > 1e-6 * abs(expected[line["step"]])
    ]
    if different or len(expected) < last:
        wrong += 1
        print(f"losses differ from an undisturbed run: {different[:3]}", flush=True)
    for kind in kinds:
        print(
            f"{kind}: {counts[kind]} rounds, the last survivor had ended after at most {longest[kind]:.1f} s",
            flush=True,
        )
    print(f"{len(seen)} losses of {last} steps as in an undisturbed run" if not different else "", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
