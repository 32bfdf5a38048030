"""Parts of the data loader that loaders of other libraries are built on."""

import multiprocessing
import multiprocessing.synchronize
import os
import queue
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from mindtorch_v2._utils import ExceptionWrapper
from mindtorch_v2.utils.data._utils import pin_memory, signal_handling


class _Pinned:
    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def pin_memory(self) -> str:
        if self.fails:
            raise ValueError("cannot be pinned")
        return "pinned"


def test_a_thread_pins_what_goes_from_queue_to_queue() -> None:
    coming: queue.Queue = queue.Queue()
    going: queue.Queue = queue.Queue()
    done = threading.Event()
    thread = threading.Thread(target=pin_memory._pin_memory_loop, args=(coming, going, 0, done, None))
    thread.start()
    failed = ExceptionWrapper(where="in a worker")
    for each in ((0, [_Pinned(), 1]), (1, failed), (2, _Pinned(fails=True))):
        coming.put(each)
    found = [going.get(timeout=20) for _ in range(3)]
    done.set()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert found[0] == (0, ["pinned", 1]) and found[1] == (1, failed)
    with pytest.raises(ValueError, match="cannot be pinned"):
        found[2][1].reraise()


@pytest.fixture
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)
    signal_handling._handler_is_set = False
    signal_handling._pids.clear()


def _ends(by: str) -> None:
    if by == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(3 if by == "error" else 0)


def _waits(ready: multiprocessing.synchronize.Event) -> None:
    signal_handling._set_worker_signal_handlers()
    ready.set()
    time.sleep(60)


def test_a_worker_that_is_told_to_end_has_not_failed(handler: None) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    worker = context.Process(target=_waits, args=(ready,))
    worker.start()
    assert worker.pid is not None and ready.wait(timeout=20)
    signal_handling._set_worker_pids(1, (worker.pid,))
    worker.terminate()
    worker.join(timeout=20)
    assert worker.exitcode == 0
    signal_handling._error_if_any_worker_fails()


@pytest.mark.parametrize(
    ("by", "text"),
    [("signal", "is killed by signal: Killed"), ("error", "exited unexpectedly with exit code 3"), ("", "")],
)
def test_the_death_of_a_worker_is_an_error_of_the_program(by: str, text: str, handler: None) -> None:
    worker = multiprocessing.get_context("fork").Process(target=_ends, args=(by,))
    worker.start()
    assert worker.pid is not None
    signal_handling._set_worker_pids(1, (worker.pid,))
    if text:
        with pytest.raises(RuntimeError, match=f"pid {worker.pid}\\) {text}"):
            signal_handling._set_SIGCHLD_handler()
            while True:
                signal_handling._error_if_any_worker_fails()
                time.sleep(0.01)
    else:
        worker.join(timeout=20)
        signal_handling._error_if_any_worker_fails()
    worker.join(timeout=20)
