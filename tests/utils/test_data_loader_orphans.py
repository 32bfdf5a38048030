"""Workers of a program that was killed: they end within two seconds, and the memory that they shared is free again."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.data import DataLoader, TensorDataset
from mindtorch_v2.utils.data._utils import transport

PROGRAM = '''
import sys, time
import mindtorch_v2 as torch
from mindtorch_v2.utils.data import DataLoader, Dataset


class Idle(Dataset):
    """Batches that come at once."""

    size = 10

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return torch.zeros(self.size)


class Large(Idle):
    """Batches that lie in shared memory until they are read."""

    size = 100_000


class Full(Idle):
    """Messages that fill the pipe: the worker's writing thread waits for a reader."""

    size = 30_000


class Sleeping(Idle):
    """A worker in the middle of the user's code."""

    def __getitem__(self, i):
        if i > 3:
            time.sleep(600)
        return torch.zeros(1)


if __name__ == "__main__":
    kind, method = sys.argv[1:]
    loader = DataLoader(
        globals()[kind](), num_workers=3, prefetch_factor=8, multiprocessing_context=method, persistent_workers=True
    )
    iterator = iter(loader)
    next(iterator)
    time.sleep(0.5)
    print(iterator._group.directory.path, *[worker.pid for worker in iterator._workers], flush=True)
    time.sleep(600)
'''


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes by /proc")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("kind", ["Idle", "Large", "Full", "Sleeping"])
def test_workers_end_with_a_killed_program(kind, method, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", script, kind, method], stdout=subprocess.PIPE, text=True
    ) as program:
        directory, *pids = program.stdout.readline().split()
        program.send_signal(signal.SIGKILL)
        program.wait()
        # Two seconds on a quiet machine; what is tested is that they end at all, and free what they hold.
        deadline = time.monotonic() + 30
        while any(map(is_running, pids)) or os.path.exists(directory):
            assert time.monotonic() < deadline, [pid for pid in pids if is_running(pid)]
            time.sleep(0.05)
    assert len(pids) == 3


def test_what_a_program_left_that_was_killed_with_its_workers_is_removed(monkeypatch):
    monkeypatch.setattr(transport, "_NEW_SECONDS", 0.0)
    code = (
        "import os, signal\n"
        "from mindtorch_v2.utils.data._utils import transport\n"
        "directory = transport.Directory()\n"
        "open(os.path.join(directory.path, 'batch'), 'w').close()\n"
        "print(directory.path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    left = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=False).stdout.strip()
    assert os.listdir(left) == ["batch"]
    mine = transport.Directory()
    assert not os.path.exists(left)
    other = transport.Directory()
    assert os.path.isdir(mine.path)
    mine.remove()
    other.remove()
    assert not os.path.exists(mine.path)


def test_a_directory_is_removed_while_a_worker_writes():
    directory = transport.Directory()
    child = os.fork()
    if not child:
        while os.path.exists(directory.path):
            with contextlib.suppress(OSError):  # the directory goes while it writes
                transport.pack(torch.zeros(100_000), directory.path)
        os._exit(0)
    time.sleep(0.05)
    transport.remove_directory(directory.path)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not os.path.exists(directory.path)
    directory.remove()


def test_loaders_of_a_forked_program_go_on():
    """A directory is held by the whole family: a child that makes a loader of its own does not take the parent's."""
    loader = DataLoader(TensorDataset(torch.zeros(64, 10_000)), batch_size=8, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    child = os.fork()
    if not child:
        transport._NEW_SECONDS = 0.0
        transport.Directory().remove()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sum(1 for _ in iterator) == 7
