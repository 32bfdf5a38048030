"""Kill processes at random moments, and look at what they leave.

    python -m tools.endurance.kills [--rounds 1000] [--kinds save,loader,step,checkpoint,cache] [--seed 0]

* save: a program that saves one file again and again. The file is always a whole one, and nothing else is left in its folder
  after the next save.
* loader: a program with DataLoader workers. Its workers end within two seconds, and the next loader removes what they shared.
* step: one of two ranks in the middle of collectives. The other one ends with an exception within the time limit, not later.
* checkpoint: one of two ranks that save a distributed checkpoint into one folder, again and again. What is there is a whole one, the
  last or the one before, and nothing else is left in its folder after the next save.
* cache: a program that builds and loads a C++ extension into a folder of builds. The next program gets it from there, whole.

One program lives until it is killed; its moment is drawn between its first sign of work and a few steps later. The exit status is
1 if anything was lost or left behind.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import checkpoint as distributed_checkpoint

ROOT = Path(__file__).resolve().parents[2]

_SAVE = """
import sys, mindtorch_v2 as torch
path, number = sys.argv[1], 0
print("begun", flush=True)
while True:
    number += 1
    torch.save({"number": number, "x": torch.full((500_000,), float(number))}, path)
"""
_LOADER = """
import sys, mindtorch_v2 as torch
class Data(torch.utils.data.Dataset):
    def __len__(self): return 10_000
    def __getitem__(self, index): return torch.full((60_000,), float(index))
if __name__ == "__main__":
    loader = iter(torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=2))
    next(loader)
    print("begun", flush=True)
    for batch in loader:
        pass
"""
_STEP = """
import sys, datetime, mindtorch_v2 as torch
rank, store = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2,
                                     timeout=datetime.timedelta(seconds=20))
x = torch.ones(20_000)
torch.distributed.all_reduce(x)
print("begun", flush=True)
while True:
    torch.distributed.all_reduce(x.fill_(1.0))
    assert x[0].item() == 2
"""
_CHECKPOINT = """
import sys, datetime, mindtorch_v2 as torch
from mindtorch_v2.distributed import checkpoint
from mindtorch_v2.distributed.tensor import Shard, distribute_tensor
rank, store, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2,
                                     timeout=datetime.timedelta(seconds=20))
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
print("begun", flush=True)
number = 0
while True:
    number += 1
    x = distribute_tensor(torch.full((100_000,), float(number)), mesh, [Shard(0)])
    checkpoint.save({"number": number, "x": x}, checkpoint_id=folder)
"""
_CACHE = """
import sys, mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension
print("begun", flush=True)
made = cpp_extension.load_inline("killed", "int three() { return 3; }", functions=["three"], build_directory=sys.argv[1])
assert made.three() == 3
print("whole", flush=True)
"""


class Kept(AssertionError):
    """Something was lost or left behind."""


def _start(code: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    script = folder / "killed.py"
    if not script.exists():  # one that starts may be reading it
        script.write_text(code)
    return subprocess.Popen(
        [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=dict(os.environ, OMP_NUM_THREADS="1"),
    )  # fmt: skip


def _kill(process: subprocess.Popen[str], draw: random.Random, longest: float) -> None:
    assert process.stdout is not None
    if process.stdout.readline().strip() != "begun":
        raise Kept(f"the program ended by itself with {process.wait()}")
    time.sleep(draw.uniform(0, longest))
    process.kill()
    process.wait()
    process.stdout.close()


def save(folder: Path, draw: random.Random) -> None:
    """Kill a save."""
    path = folder / "files" / "a.pt"
    path.parent.mkdir(exist_ok=True)
    _kill(_start(_SAVE, folder, str(path)), draw, 0.25)
    if path.exists():
        found = torch.load(path)
        if not bool((found["x"] == found["number"]).all()) or len(found["x"]) != 500_000:
            raise Kept("the file is not a whole one")
    torch.save({"number": 0, "x": torch.zeros(500_000)}, path)
    if os.listdir(path.parent) != ["a.pt"]:
        raise Kept(f"left behind: {sorted(os.listdir(path.parent))}")


def _children(pid: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found.append(int(entry))
    return found


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def loader(folder: Path, draw: random.Random) -> None:
    """Kill a program whose workers are at work."""
    process = _start(_LOADER, folder)
    assert process.stdout is not None
    if process.stdout.readline().strip() != "begun":
        raise Kept(f"the program ended by itself with {process.wait()}")
    workers = _children(process.pid)
    if len(workers) < 2:
        raise Kept(f"only {len(workers)} workers")
    time.sleep(draw.uniform(0, 0.05))
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 10  # two seconds on a machine with nothing else to do
    while time.monotonic() < deadline and any(map(_lives, workers)):
        time.sleep(0.02)
    left = [pid for pid in workers if _lives(pid)]
    if left:
        raise Kept(f"workers outlive their parent: {left}")


def step(folder: Path, draw: random.Random) -> None:
    """Kill one of two ranks."""
    meeting = folder / f"store-{draw.getrandbits(40)}"
    ranks = [_start(_STEP, folder, str(rank), str(meeting)) for rank in range(2)]
    victim = draw.randrange(2)
    try:
        other = ranks[1 - victim]
        _kill(ranks[victim], draw, 0.03)
        try:
            status = other.wait(60)
        except subprocess.TimeoutExpired:
            raise Kept("the other rank waits for ever") from None
        if status in (0, -signal.SIGSEGV, -signal.SIGABRT):
            raise Kept(f"the other rank ended with {status}")
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
            if rank.stdout is not None:
                rank.stdout.close()
        meeting.unlink(missing_ok=True)


def checkpoint(folder: Path, draw: random.Random) -> None:
    """Kill one of two ranks that save a distributed checkpoint."""
    saved, meeting = folder / "checkpoint", folder / f"store-{draw.getrandbits(40)}"
    ranks = [_start(_CHECKPOINT, folder, str(rank), str(meeting), str(saved)) for rank in range(2)]
    victim = draw.randrange(2)
    try:
        _kill(ranks[victim], draw, 0.3)
        if ranks[1 - victim].wait(60) in (0, -signal.SIGSEGV, -signal.SIGABRT):
            raise Kept(f"the other rank ended with {ranks[1 - victim].returncode}")
    except subprocess.TimeoutExpired:
        raise Kept("the other rank waits for ever") from None
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
            if rank.stdout is not None:
                rank.stdout.close()
        meeting.unlink(missing_ok=True)
    state: dict[str, Any] = {"number": -1, "x": torch.zeros(100_000)}
    if (saved / ".metadata").exists():
        distributed_checkpoint.load(state, checkpoint_id=str(saved), no_dist=True)
        if state["number"] < 0 or not bool((state["x"] == state["number"]).all()):
            raise Kept(f"the checkpoint is not a whole one: {state}")
    elif list(saved.parent.glob("whole")):
        raise Kept("the checkpoint is lost")
    distributed_checkpoint.save({"number": 0, "x": torch.zeros(100_000)}, checkpoint_id=str(saved), no_dist=True)
    (folder / "whole").touch()  # from now on there is one, always
    left = sorted(os.listdir(saved))
    if len(left) != 2 or left[0] != ".metadata":
        raise Kept(f"left behind: {left}")


def cache(folder: Path, draw: random.Random) -> None:
    """Kill a program that builds an extension; the next one uses the same folder."""
    builds = folder / "builds"
    builds.mkdir(exist_ok=True)
    _kill(_start(_CACHE, folder, str(builds)), draw, 14.0)
    second = _start(_CACHE, folder, str(builds))
    assert second.stdout is not None
    said = second.stdout.read()
    if second.wait(300) or "whole" not in said:
        raise Kept("the next program cannot use the folder of builds")
    second.stdout.close()
    for path in builds.iterdir():
        if draw.random() < 0.5 and path.is_file():
            path.unlink()  # so that the next round builds again


KINDS: dict[str, Callable[[Path, random.Random], None]] = {
    "save": save, "loader": loader, "step": step, "checkpoint": checkpoint, "cache": cache,
}  # fmt: skip


def _abandoned() -> list[str]:
    """Shared memory that no living process holds: the next loader removes it once it is ten seconds old."""
    found = []
    for path in Path("/dev/shm").glob("mindtorch_loader_*"):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(path.name)
            finally:
                os.close(handle)
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.endurance.kills", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=0, help="end each kind after so many seconds, however far it is"
    )
    chosen = parser.parse_args()
    failed = 0
    for kind in chosen.kinds.split(","):
        draw, done, started = random.Random(f"{chosen.seed}/{kind}"), 0, time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            while done < chosen.rounds and not (chosen.seconds and time.monotonic() - started > chosen.seconds):
                done += 1
                try:
                    KINDS[kind](Path(folder), draw)
                except Kept as problem:
                    failed += 1
                    print(f"{kind} {done}: {problem}", flush=True)
        if kind == "loader":
            time.sleep(11)
            list(torch.utils.data.DataLoader([torch.zeros(60_000)] * 2, num_workers=1))
            if left := _abandoned():
                failed += 1
                print(f"{kind}: shared memory left behind: {sorted(left)[:4]}", flush=True)
        print(f"{kind}: {done} kills in {time.monotonic() - started:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
