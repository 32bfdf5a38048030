"""Make each call of each program fail once, and report what did not survive.

    python -m tools.faults [--programs 'save|load'] [--kinds ours,system] [--every 1] [--report FILE]

A point is a call of one kind in one program: an allocation of this package ("ours") or of oneDNN and OpenBLAS ("libraries") or
of anything else, Python included ("others"), a system call ("system"), a read or write that does half of what was asked
("short"). The program is prepared and run once; then each point is tried in a fork of that process. Survived is a point after
which there is an exception of a kind that tells of the fault, or a right result; nothing is lost; no file handle is left open;
and the process computes what it did before. The exit status is 1 if a point was not survived.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import ctypes
import faulthandler
import gc
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / "build-faults" / "shim.so"
KINDS = ("ours", "libraries", "others", "system", "short")
SECONDS = 40  # for one point; programs with other processes wait up to 15 s for these

# What the process says of itself through its exit status.
RIGHT, RAISED, NO_FAULT, WRONG, MISTAKE, LOST, LEAKED, UNUSABLE = 0, 1, 2, 10, 11, 12, 13, 14
SURVIVED = (RIGHT, RAISED, NO_FAULT)
WORDS = {
    WRONG: "a wrong result", MISTAKE: "an exception that tells of something else", LOST: "something is lost",
    LEAKED: "file handles are left open", UNUSABLE: "the process computes something else afterwards",
}  # fmt: skip
# Exceptions that no fault of memory or of the system explains.
MISTAKES = (SystemError, AssertionError, NameError, AttributeError, RecursionError, ZeroDivisionError)
# CPython 3.11 says so, rather than MemoryError, where it has no memory for the frame of a function written in Python.
# One written in C, ours among them, reads `<built-in ...>` or `<method ...>` there and stays a mistake.
PYTHONS_OWN = re.compile(r"<function .+> returned NULL without setting an exception$")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--programs", default=".", help="a pattern of their names")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--every", type=int, default=1, help="try every n-th point only")
    parser.add_argument(
        "--most", type=int, default=0, help="at most so many points of one kind in one program, evenly spread"
    )
    parser.add_argument("--only", type=int, default=0, help="one point, with its output shown")
    parser.add_argument("--report", help="where to write the counts as JSON")
    chosen = parser.parse_args()
    if "fault_arm" not in os.environ.get("MINDTORCH_FAULTS", ""):
        _start_again()
    sys.exit(Search(chosen).run())


def _start_again() -> None:
    """Run the same command with the shim preloaded, every allocation of Python's on the system's heap."""
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < (HERE / "shim.cpp").stat().st_mtime:
        LIBRARY.parent.mkdir(exist_ok=True)
        compiler = os.environ.get("CXX", "g++")
        subprocess.run(
            [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-o", LIBRARY, HERE / "shim.cpp", "-ldl"], check=True
        )
    environment = dict(
        os.environ, LD_PRELOAD=str(LIBRARY), PYTHONMALLOC="malloc", MINDTORCH_FAULTS="fault_arm", OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        PYTHONHASHSEED="0", MINDTORCH_KEEP_MEMORY="0",
    )  # fmt: skip
    os.execve(sys.executable, [sys.executable, "-m", "tools.faults", *sys.argv[1:]], environment)


class Search:
    """All points of the chosen programs."""

    def __init__(self, chosen: Any) -> None:
        self.chosen = chosen
        self.shim = ctypes.CDLL(None)
        self.shim.fault_arm.argtypes = [ctypes.c_int, ctypes.c_long]
        self.shim.fault_disarm.restype = ctypes.c_long
        self.told = mmap.mmap(-1, 64)  # shared with the forks: what failed is known of those that die, too
        self.shim.fault_tell(ctypes.byref(ctypes.c_char.from_buffer(self.told)))
        self.failures: list[str] = []
        self.counts: dict[str, dict[str, int]] = {}

    def run(self) -> int:
        """Try all; the exit status."""
        from tools.faults import programs_of_devices, programs_of_files  # noqa: F401  (they add to the programs)
        from tools.faults.programs import PROGRAMS

        warnings.simplefilter("ignore")
        started = time.monotonic()
        for name in [each for each in PROGRAMS if re.search(self.chosen.programs, each)]:
            self.counts[name] = {}
            for kind in self.chosen.kinds.split(","):
                self._points(name, PROGRAMS[name], kind)
        tried = sum(sum(each.values()) for each in self.counts.values())
        print(
            f"{tried} points of {len(self.counts)} programs, {len(self.failures)} not survived, {time.monotonic() - started:.0f} s"
        )
        if self.chosen.report:
            made = {"points": self.counts, "not survived": self.failures}
            Path(self.chosen.report).write_text(json.dumps(made, indent=1) + "\n")
        return 1 if self.failures else 0

    def _points(self, name: str, program: Any, kind: str) -> None:
        if not program.threads:
            _warm(program)
        gc.collect()
        gc.freeze()  # what a fork looks through is its own
        _, total, _, _ = self._fork(name, program, kind, 0)
        if self.chosen.only:
            numbers = [self.chosen.only]
        else:
            step = max(self.chosen.every, -(-total // self.chosen.most) if self.chosen.most else 1)
            numbers = list(range(1 + (step - 1) // 2, total + 1, step))
        outcomes: collections.Counter[str] = collections.Counter()
        for number in numbers:
            status, _, what, output = self._fork(name, program, kind, number)
            if status in SURVIVED:
                outcomes[{RIGHT: "right", RAISED: "raised", NO_FAULT: "not reached"}[status]] += 1
                continue
            how = WORDS.get(status) or (
                f"ended by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
            )
            failure = f"{name} {kind} {number} ({what}): {how}"
            self.failures.append(failure)
            outcomes["NOT SURVIVED"] += 1
            print(failure, flush=True)
            shown = output.strip().splitlines()
            print("    " + "\n    ".join(shown if self.chosen.only else shown[-14:]), flush=True)
        self.counts[name][kind] = len(numbers)
        if numbers:
            print(
                f"{name} {kind}: {len(numbers)} of {total} points; "
                + ", ".join(f"{k} {v}" for k, v in outcomes.items()),
                flush=True,
            )

    def _fork(self, name: str, program: Any, kind: str, number: int) -> tuple[int, int, str, str]:
        """Try one point; status, number of points seen, what failed, output."""
        with tempfile.TemporaryDirectory(prefix="faults-") as folder, tempfile.TemporaryFile() as output:
            self.told[:] = bytes(64)
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reading)
                os.setpgid(0, 0)
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                status = self._child(program, Path(folder), KINDS.index(kind), number, writing)
                sys.stderr.flush()
                os._exit(status)
            os.close(writing)
            status = _wait(child)
            with open(reading, "rb") as said:
                total = said.read().decode()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            output.seek(0)
            return status, int(total or 0), self.what(), output.read().decode(errors="replace")

    def what(self) -> str:
        """The name of the function that failed."""
        return self.told[:].rstrip(b"\0").decode()

    def _child(self, program: Any, folder: Path, kind: int, number: int, writing: int) -> int:
        faulthandler.enable()
        ready = program.prepare(folder)
        if program.threads:
            _warm(program)  # here, as forks of a process with threads do not have them
        expected = _sample()
        gc.collect()
        gc.disable()
        open_before = _handles()
        status, result, error = RIGHT, None, None
        if self.chosen.only:
            self.shim.fault_show()
        self.shim.fault_arm(kind, number)
        try:
            result = program.run(ready)
        except BaseException as raised:  # noqa: BLE001  (each is looked at)
            error = raised
        seen = self.shim.fault_disarm()
        what = self.what()
        os.write(writing, str(seen).encode())
        if error is not None:
            import traceback

            traceback.print_exception(error)
            status = MISTAKE if _is_mistake(error) else RAISED
        elif number and not what:
            status = NO_FAULT
        try:
            if error is None and not program.check(ready, result):
                print(f"result: {result}")
                status = WRONG
            program.after(ready)
        except BaseException:  # noqa: BLE001  (it is shown, and the process ends)
            import traceback

            traceback.print_exc()
            return LOST
        error = result = None
        gc.enable()
        for _ in range(3):
            gc.collect()
        if status in SURVIVED and _sample() != expected:
            return UNUSABLE
        if status in SURVIVED and not program.threads and _handles() > open_before:
            print(f"open: {_handles()}, before: {open_before}")
            return LEAKED
        return status


def _warm(program: Any) -> None:
    """Run it once where nothing fails: what is imported and kept at first use is there."""
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        program.run(program.prepare(Path(place)))


def _is_mistake(error: BaseException) -> bool:
    seen = error
    while seen is not None:  # an exception that carries the fault as its cause tells of it
        if isinstance(seen, (MemoryError, OSError)):
            return False
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]  # (of any class)
    if isinstance(error, SystemError) and (PYTHONS_OWN.match(str(error)) or _in_its_own_library(error)):
        return False
    return isinstance(error, MISTAKES)


def _in_its_own_library(error: SystemError) -> bool:
    """Whether CPython ran out of memory between two functions of its own library: nothing of ours can have lost the exception."""
    innermost = None
    trace = error.__traceback__
    while trace:
        innermost, trace = trace.tb_frame.f_code.co_filename, trace.tb_next
    return str(error) == "error return without exception set" and str(innermost).startswith("<frozen ")


def _wait(child: int) -> int:
    deadline = time.monotonic() + SECONDS
    pause = 0.001
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(pause)
        pause = min(0.02, pause * 1.3)
    os.killpg(child, signal.SIGABRT)
    os.waitpid(child, 0)
    return 99


def _handles() -> int:
    return len(os.listdir("/proc/self/fd"))


def _sample() -> list[Any]:
    import mindtorch_v2 as torch

    x = torch.arange(6.0).view(2, 3).requires_grad_()
    (x.t() @ x).relu().sum().backward()
    settings = [
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.get_num_threads(),
    ]
    assert x.grad is not None
    return [x.grad.tolist(), x[0, 1:].tolist(), torch.ones(70_000).sum().item(), *settings]


if __name__ == "__main__":
    main()
