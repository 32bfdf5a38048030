"""A data loader's worker process: its loop, its random seeds, and what a dataset can ask about it."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import multiprocessing.connection
import os
import random
import sys
import threading
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import ExceptionWrapper
from mindtorch_v2.utils.data._utils import transport

# How often a worker looks for its parent, beside waiting for its end.
_ORPHAN_SECONDS = 0.5


class ManagerWatchdog:
    """Tell a worker whether the process that started it is still there."""

    def __init__(self) -> None:
        parent = multiprocessing.parent_process()
        # Ready when the parent is gone, but only once its other children, who inherited the same pipe, are gone too.
        self._sentinel = None if parent is None else parent.sentinel
        self.manager_pid = os.getppid()
        # Forked or spawned by it, and orphaned before this line: a fork server has another number to begin with.
        self.manager_dead = parent is not None and self.manager_pid == 1 != parent.pid

    def is_alive(self) -> bool:
        return not self.wait(0)

    def wait(self, timeout: float) -> bool:
        """Whether the process is gone; waits for its end at most `timeout` seconds."""
        if not self.manager_dead:
            ended = self._sentinel is not None and multiprocessing.connection.wait([self._sentinel], timeout)
            # An orphan gets another parent.
            self.manager_dead = bool(ended) or os.getppid() != self.manager_pid
        return self.manager_dead


def _end_with_parent(directory: str) -> None:
    """End this process soon after its parent, from a thread: the main one may wait in a pipe that nobody empties.

    A parent that was killed could not free the shared memory: the last of its workers does.
    """
    watchdog = ManagerWatchdog()

    def watch() -> None:
        while not watchdog.wait(_ORPHAN_SECONDS):
            pass
        transport.remove_directory(directory)
        os._exit(1)

    threading.Thread(target=watch, name="DataLoader watchdog", daemon=True).start()


@dataclass(frozen=True, slots=True)
class _RNG:
    """The generators that a worker seeded, for datasets that want one of their own."""

    random_generator: random.Random
    torch_generator: Any
    numpy_generator: Any = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The result of `get_worker_info`: worker `id` of `num_workers`, its `seed`, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: _RNG | None = None
    worker_method: str | None = "multiprocessing"

    def __repr__(self) -> str:
        fields = ("id", "num_workers", "seed", "dataset")
        return f"WorkerInfo({', '.join(f'{name}={getattr(self, name)}' for name in fields)})"


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Sent by a worker whose stream has ended."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Sent to a persistent worker, and back, at the start of an epoch."""

    seed: int | None = None


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The current worker's `WorkerInfo`; None in the main process.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return _worker_info


def _numpy():
    """NumPy if it is installed, else None."""
    if importlib.util.find_spec("numpy") is None:
        return None
    return importlib.import_module("numpy")


def _generate_state(base_seed, worker_id) -> list:
    """Four 32-bit seeds for NumPy, well apart for neighbouring workers."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return [int(word) for word in _numpy().random.SeedSequence(entropy).generate_state(4)]


def _seed_everything(base_seed, worker_id) -> tuple:
    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.random.seed(_generate_state(base_seed, worker_id))
    return seed, numpy


def _make_rng(seed, base_seed, worker_id, numpy):
    generator = torch.Generator()
    generator.manual_seed(seed)
    numpy_generator = None
    if numpy is not None:
        numpy_generator = numpy.random.default_rng(_generate_state(base_seed, worker_id))
    return _RNG(random.Random(seed), generator, numpy_generator)


def _worker_loop(
    dataset_kind,
    dataset,
    index_queue,
    data_queue,
    done_event,
    auto_collation,
    collate_fn,
    drop_last,
    base_seed,
    init_fn,
    worker_id,
    num_workers,
    persistent_workers,
    directory,
) -> None:
    """Serve `(number, keys)` from `index_queue` with `(number, packed batch)` until told to stop.

    None in the queue, or `done_event`, ends it. Exceptions are sent in the batch's place. `KeyboardInterrupt` ends
    it silently: the main process gets its own.
    """
    global _worker_info
    # First of all: a child forked after an OpenMP region hangs in its first parallel region of several threads.
    torch.set_num_threads(1)
    _end_with_parent(directory)
    try:
        seed, numpy = _seed_everything(base_seed, worker_id)
        rng = _make_rng(seed, base_seed, worker_id, numpy)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, dataset, rng)
        where = f"in DataLoader worker process {worker_id}"
        init_exception = None
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = dataset_kind.create_fetcher(
                dataset_kind.of(dataset), dataset, auto_collation, collate_fn, drop_last
            )
        except Exception:  # noqa: BLE001  (whatever the user's code raises goes to the main process)
            init_exception = ExceptionWrapper(where=where)

        stream_ended = False
        while True:
            request = index_queue.get()
            if isinstance(request, _ResumeIteration):
                data_queue.put((request, None))
                stream_ended = False
                fetcher = dataset_kind.create_fetcher(
                    dataset_kind.of(dataset), dataset, auto_collation, collate_fn, drop_last
                )
                continue
            if request is None or done_event.is_set():
                break
            if stream_ended:
                # Already answered with the end of the stream.
                continue
            number, keys = request
            data: Any
            if init_exception is not None:
                data, init_exception = init_exception, None
            else:
                try:
                    data = fetcher.fetch(keys)
                except StopIteration:
                    data = _IterableDatasetStopIteration(worker_id)
                    stream_ended = True
                except Exception:  # noqa: BLE001  (whatever the user's code raises goes to the main process)
                    data = ExceptionWrapper(where=where)
            try:
                message = transport.pack(data, directory)
            except Exception:  # noqa: BLE001  (whatever the user's code raises goes to the main process)
                message = transport.pack(ExceptionWrapper(where=where), directory)
            data_queue.put((number, message))
            # The batch must not live on while the next one is made.
            del data, message, keys, request
    except KeyboardInterrupt:
        pass
    if done_event.is_set():
        # Nobody reads any more: do not wait until the pipe has been emptied.
        data_queue.cancel_join_thread()
        data_queue.close()
    sys.stdout.flush()
