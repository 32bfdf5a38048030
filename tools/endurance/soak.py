"""Mixed work for as long as is asked, and counts that have to stay where they are.

    python -m tools.endurance.soak [--minutes 60] [--kinds training,compile,...]

Each round does some of each kind of work: training, captured functions, loaders with workers, saves and loads, a process group, an
operator library, threads. Memory, file handles, threads, children, shared memory and temporary files are counted after each round;
the counts of the last third may not lie above those of the second. The exit status is 1 if one does.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import mindtorch_v2 as torch

functional = torch.nn.functional
GROWTH = {"memory": 3.0, "handles": 0, "threads": 0, "children": 0, "shared": 0, "temporary": 0}
"""How much the last third may lie above the second: megabytes, and counts."""


def training(folder: Path) -> None:
    """Steps of a small network with dropout, by an optimizer that keeps states."""
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.Dropout(),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 36, 5),
    )
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(5):
        optimizer.zero_grad()
        functional.cross_entropy(model(torch.randn(8, 3, 8, 8)), torch.randint(0, 5, (8,))).backward()
        optimizer.step()


def compile(folder: Path) -> None:
    """Functions that are captured, lowered and forgotten."""
    torch.compiler.reset()
    compiled = torch.compile(lambda x, y: (x.sin() * y).relu().sum(), backend="aot_eager")
    for size in (2, 3):
        x = torch.ones(size, requires_grad=True)
        compiled(x, x).backward()
    torch.compiler.reset()


class _Numbers(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((20_000,), float(index))


def loaders(folder: Path) -> None:
    """A loader with workers that is used up, and one that is left in the middle."""
    assert (
        sum(batch[0, 0].item() for batch in torch.utils.data.DataLoader(_Numbers(), batch_size=1, num_workers=2)) == 15
    )
    next(iter(torch.utils.data.DataLoader(_Numbers(), num_workers=1)))


def saves(folder: Path) -> None:
    """Files of each format, read back, one of them mapped."""
    x = torch.randn(20_000)
    value = {"x": x, "y": [1, "a"]}
    for number, zipped in enumerate((True, False)):
        path = folder / f"{number}.pt"
        torch.save(value, path, _use_new_zipfile_serialization=zipped)
        assert torch.equal(torch.load(path)["x"], x)
    assert torch.equal(torch.load(folder / "0.pt", mmap=True)["x"], x)
    try:
        torch.load(__file__)
    except Exception:  # noqa: BLE001  (which one is not the matter here)
        return
    raise AssertionError("a Python source was loaded")


def groups(folder: Path) -> None:
    """A process group of one, its store, a collective."""
    meeting = folder / f"store-{time.monotonic_ns()}"
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=0, world_size=1)
    x = torch.ones(1000)
    torch.distributed.all_reduce(x)
    torch.distributed.destroy_process_group()
    meeting.unlink(missing_ok=True)


def libraries(folder: Path) -> None:
    """Operators that are defined, used and gone, errors included."""
    with torch.library._scoped_library("soak", "FRAGMENT") as library:
        library.define("op(Tensor x, int n=1) -> Tensor")
        library.impl("op", lambda x, n=1: x + n, "CPU")
        torch.ops.soak.op(torch.ones(2))
        for wrong in (1, None, "x"):
            try:
                torch.ops.soak.op(wrong)
            except (RuntimeError, TypeError):
                continue
            raise AssertionError("no error")


def threads(folder: Path) -> None:
    """Backward passes on several threads."""
    leaf = torch.ones(50_000, requires_grad=True)
    made = [threading.Thread(target=lambda: (leaf * 2).sum().backward()) for _ in range(3)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()
    assert leaf.grad is not None and leaf.grad[0].item() == 6


def emulator(folder: Path) -> None:
    """Operators of an NPU, where the program runs on the emulator."""
    x = torch.randn(100, 10, device="npu", requires_grad=True)
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        (x @ x.t()).relu().sum().backward()
    stream.synchronize()


WORK: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (training, compile, loaders, saves, groups, libraries, threads)
}
if os.environ.get("ASCEND_HOME_PATH"):
    WORK["emulator"] = emulator


def counts(folder: Path) -> dict[str, float]:
    """The counts that must not grow."""
    gc.collect()
    torch._C._cpu_empty_cache()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    # Of this process alone: others may run loaders of their own.
    handles = [Path(f"/proc/self/fd/{each}") for each in os.listdir("/proc/self/fd")]
    shared = sum("/dev/shm" in os.readlink(each) for each in handles if each.is_symlink())
    shared += Path("/proc/self/maps").read_text().count("/dev/shm")
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    return {
        "memory": pages * os.sysconf("SC_PAGESIZE") / (1 << 20),
        "handles": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "children": len(children),
        "shared": shared,
        "temporary": len(os.listdir(folder)),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.endurance.soak", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kinds", default=",".join(WORK))
    chosen = parser.parse_args()
    torch.set_num_threads(2)
    deadline = time.monotonic() + chosen.minutes * 60
    seen: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        while time.monotonic() < deadline or len(seen) < 6:
            for kind in chosen.kinds.split(","):
                WORK[kind](Path(place))
            seen.append(counts(Path(place)))
            if len(seen) & (len(seen) - 1) == 0:
                print(
                    len(seen),
                    "rounds:",
                    ", ".join(f"{name} {value:.0f}" for name, value in seen[-1].items()),
                    flush=True,
                )
    third = len(seen) // 3
    grown = []
    for name, allowed in GROWTH.items():
        before, after = (
            statistics.median(each[name] for each in part) for part in (seen[third : 2 * third], seen[-third:])
        )
        print(f"{name}: {before:.1f} to {after:.1f}")
        if after > before + allowed:
            grown.append(name)
    print(f"{len(seen)} rounds of {chosen.kinds}; " + (f"GROWN: {', '.join(grown)}" if grown else "nothing grew"))
    sys.exit(1 if grown else 0)


if __name__ == "__main__":
    main()
