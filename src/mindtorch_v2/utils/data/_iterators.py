"""The data loader's iterators: in this process, and over worker processes."""

from __future__ import annotations

import functools
import multiprocessing
import multiprocessing.connection
import queue
import signal
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import ExceptionWrapper
from mindtorch_v2.utils._profiled import profiler_that_runs
from mindtorch_v2.utils.data import _utils
from mindtorch_v2.utils.data._utils import transport
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from mindtorch_v2.utils.data.dataset import IterableDataset
from mindtorch_v2.utils.data.graph_settings import apply_random_seed, apply_sharding

if TYPE_CHECKING:
    from mindtorch_v2.utils.data._utils.fetch import _BaseDatasetFetcher
    from mindtorch_v2.utils.data.dataloader import DataLoader


def _sharding_worker_init_fn(
    worker_init_fn: Callable[[int], None] | None, world_size: int, rank_id: int, worker_id: int
) -> None:
    """Give a worker its share of a pipe's elements, then call the user's function."""
    info: Any = _utils.worker.get_worker_info()
    apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


def _worker_init_fn(loader: DataLoader) -> Any:
    """The function that workers call first: for pipes it gives each its share of the elements."""
    if isinstance(loader.dataset, IterDataPipe | MapDataPipe):
        return functools.partial(_sharding_worker_init_fn, loader.worker_init_fn, 1, 0)
    return loader.worker_init_fn


class _DatasetKind:
    """How a dataset is read: by key, or as a stream."""

    Map = 0
    Iterable = 1

    @staticmethod
    def of(dataset: Any) -> int:
        return _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool
    ) -> _BaseDatasetFetcher:
        fetcher: Any = _utils.fetch._MapDatasetFetcher
        if kind == _DatasetKind.Iterable:
            fetcher = _utils.fetch._IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _BaseDataLoaderIter:
    """One pass over a loader: counts what it yields, pins it if asked to."""

    def __init__(self, loader: DataLoader) -> None:
        self._dataset = loader.dataset
        self._seed_pipes(loader)
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        # Drawn before the sampler draws, with or without workers: PyTorch's order of random numbers.
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._pin_memory = loader.pin_memory and torch.accelerator.is_available()
        accelerator = torch.accelerator.current_accelerator() if self._pin_memory else None
        self._pin_memory_device = None if accelerator is None else accelerator.type
        if loader.pin_memory and not self._pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
                stacklevel=4,
            )

    def __iter__(self) -> Iterator[Any]:
        return self

    def _seed_pipes(self, loader: DataLoader) -> None:
        """Give pipes that are random a seed each, from one number of the loader's generator."""
        self._shared_seed: Any = None
        if isinstance(self._dataset, IterDataPipe):
            generator = torch.Generator()
            self._shared_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
            generator.manual_seed(self._shared_seed)
            self._dataset = apply_random_seed(self._dataset, generator)

    def _reset(self, loader, first_iter=False) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __next__(self) -> Any:
        profiler = profiler_that_runs()
        if profiler is None:
            return self._next()
        with profiler.record_function(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
            return self._next()

    def _next(self) -> Any:
        if self._sampler_iter is None:
            self._reset(None)
        data = self._next_data()
        self._num_yielded += 1
        expected = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and expected is not None and self._num_yielded > expected:
            message = (
                f"Length of IterableDataset {self._dataset} was reported to be {expected}(when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
            )
            if self._num_workers > 0:
                message += (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the "
                    "IterableDataset replica at each worker. Please see "
                    "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
                )
            warnings.warn(message, stacklevel=2)
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> dict[str, Any]:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)

    def _pinned(self, data):
        return _utils.pin_memory.pin_memory(data) if self._pin_memory else data


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Make each batch when it is asked for."""

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if self._num_workers != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires num_workers == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self):
        return self._pinned(self._dataset_fetcher.fetch(self._next_index()))


class _Workers:
    """The processes, their queues and their directory in shared memory; `stop` frees all of it, once."""

    def __init__(self, context: Any, count: int, target: Callable[..., Any], arguments: Callable[..., Any]) -> None:
        self.lock = threading.Lock()
        self.stopped = False
        self.directory = transport.Directory()
        self.done = context.Event()
        self.results = context.Queue()
        self.requests = []
        self.processes = []
        for worker_id in range(count):
            requests = context.Queue()
            # Nobody waits for unsent requests when the program ends.
            requests.cancel_join_thread()
            process = context.Process(
                target=target, args=arguments(worker_id, requests, self.results, self.done, self.directory.path)
            )
            process.daemon = True
            self.requests.append(requests)
            process.start()
            self.processes.append(process)
        self.owner = multiprocessing.current_process().pid

    def stop(self) -> None:
        """End the workers, asking first; a copy of this object in a forked child does nothing."""
        with self.lock:
            if self.stopped or multiprocessing.current_process().pid != self.owner:
                return
            self.stopped = True
        self.done.set()
        for requests, process in zip(self.requests, self.processes, strict=True):
            if process.is_alive():
                requests.put(None)
        deadline = time.monotonic() + _utils.MP_STATUS_CHECK_INTERVAL
        for process in self.processes:
            process.join(timeout=max(0.0, deadline - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
                process.join()
        self.results.cancel_join_thread()
        for channel in (self.results, *self.requests):
            channel.close()
        self.directory.remove()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hand keys to worker processes in turn and give back their batches in the keys' order.

    Requests are numbered. `_task_info[number]` is `(worker,)` while a batch is awaited and `(worker, data)` once it
    is here but earlier ones are not. A worker is active until its stream has ended.
    """

    def __init__(self, loader: DataLoader) -> None:
        super().__init__(loader)
        self._prefetch_factor: Any = loader.prefetch_factor
        self._in_order = loader.in_order
        context = loader.multiprocessing_context or multiprocessing

        def arguments(worker_id: int, requests: Any, results: Any, done: Any, directory: str) -> tuple:
            return (
                _DatasetKind,
                self._dataset,
                requests,
                results,
                done,
                self._auto_collation,
                self._collate_fn,
                self._drop_last,
                self._base_seed,
                _worker_init_fn(loader),
                worker_id,
                self._num_workers,
                self._persistent_workers,
                directory,
            )

        self._group = _Workers(context, self._num_workers, _utils.worker._worker_loop, arguments)
        self._workers = self._group.processes
        self._index_queues = self._group.requests
        self._worker_result_queue = self._group.results
        self._finalizer = weakref.finalize(self, self._group.stop)
        self._reset(loader, first_iter=True)

    def _reset(self, loader, first_iter=False) -> None:
        super()._reset(loader, first_iter)
        self._send_idx = 0
        self._rcvd_idx = 0
        self._task_info: dict[Any, Any] = {}
        self._tasks_outstanding = 0
        self._workers_status = [True] * self._num_workers
        self._workers_num_tasks = [0] * self._num_workers
        self._next_worker = 0
        if not first_iter:
            self._resume_workers()
        for _ in range(self._prefetch_factor * self._num_workers):
            self._try_put_index()

    def _resume_workers(self) -> None:
        """Start another epoch; batches of the last one that are still on their way are dropped."""
        for requests in self._index_queues:
            requests.put(_utils.worker._ResumeIteration())
        waiting = self._num_workers
        while waiting:
            number, message = self._get_data()
            if isinstance(number, _utils.worker._ResumeIteration):
                waiting -= 1
            else:
                transport.discard(message)

    def _failed_workers(self) -> list:
        return [
            (worker_id, process)
            for worker_id, process in enumerate(self._workers)
            if self._workers_status[worker_id] and not process.is_alive()
        ]

    def _raise_if_worker_died(self) -> None:
        failed = self._failed_workers()
        if not failed:
            return
        pids = ", ".join(str(process.pid) for _, process in failed)
        for worker_id, _ in failed:
            self._mark_worker_as_unavailable(worker_id)
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from _cause_of(failed[0][1])

    def _try_get_data(self, timeout=_utils.MP_STATUS_CHECK_INTERVAL) -> tuple:
        """`(True, message)` if a batch comes within `timeout` seconds, else `(False, None)`.

        Raises RuntimeError if a worker has died.
        """
        try:
            # The end of a worker wakes this up as a batch does.
            multiprocessing.connection.wait(
                [self._worker_result_queue._reader]
                + [p.sentinel for p, active in zip(self._workers, self._workers_status, strict=True) if active],
                timeout=timeout,
            )
            return True, self._worker_result_queue.get(timeout=0.001)
        except queue.Empty:
            self._raise_if_worker_died()
            return False, None

    def _get_data(self):
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            wait = _utils.MP_STATUS_CHECK_INTERVAL
            if deadline is not None:
                wait = min(wait, max(0.0, deadline - time.monotonic()))
            success, message = self._try_get_data(wait)
            if success:
                return message
            if deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _next_data(self):
        while True:
            # Skip requests whose worker had nothing more to give.
            while self._rcvd_idx < self._send_idx:
                info = self._task_info.get(self._rcvd_idx)
                if info and (len(info) == 2 or self._workers_status[info[0]]):
                    break
                self._task_info.pop(self._rcvd_idx, None)
                self._rcvd_idx += 1
            else:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration

            if len(self._task_info[self._rcvd_idx]) == 2:
                worker_id, data = self._task_info.pop(self._rcvd_idx)
                self._rcvd_idx += 1
                return self._process_data(data, worker_id)

            number, message = self._get_data()
            data = transport.unpack(message)
            self._tasks_outstanding -= 1
            if isinstance(data, _utils.worker._IterableDatasetStopIteration):
                if self._persistent_workers:
                    self._workers_status[data.worker_id] = False
                else:
                    self._mark_worker_as_unavailable(data.worker_id)
                self._try_put_index()
                continue
            if number == self._rcvd_idx:
                worker_id = self._task_info.pop(number)[0]
                self._rcvd_idx += 1
                return self._process_data(data, worker_id)
            if not self._in_order:
                worker_id = self._task_info.pop(number)[0]
                return self._process_data(data, worker_id)
            self._task_info[number] += (data,)

    def _try_put_index(self) -> None:
        """Send the next keys to the next active worker, if there are both."""
        if not self._tasks_outstanding < self._prefetch_factor * self._num_workers:
            raise AssertionError("too many outstanding tasks")
        try:
            keys = self._next_index()
        except StopIteration:
            return
        worker_id = self._choose_worker()
        if worker_id is None:
            return
        self._index_queues[worker_id].put((self._send_idx, keys))
        self._task_info[self._send_idx] = (worker_id,)
        self._workers_num_tasks[worker_id] += 1
        self._tasks_outstanding += 1
        self._send_idx += 1

    def _choose_worker(self) -> int | None:
        active_count = sum(self._workers_status)
        for _ in range(self._num_workers):
            worker_id = self._next_worker
            self._next_worker = (worker_id + 1) % self._num_workers
            if not self._workers_status[worker_id]:
                continue
            limit = self._prefetch_factor * self._num_workers // active_count
            if self._in_order or self._workers_num_tasks[worker_id] < limit:
                return worker_id
        return None

    def _process_data(self, data, worker_idx):
        self._workers_num_tasks[worker_idx] -= 1
        self._try_put_index()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return self._pinned(data)

    def _mark_worker_as_unavailable(self, worker_id, shutdown=False) -> None:
        """End one worker's work: None in its queue lets the process finish."""
        self._index_queues[worker_id].put(None)
        self._workers_status[worker_id] = False

    def _shutdown_workers(self) -> None:
        """End all workers."""
        self._workers_status = [False] * self._num_workers
        self._finalizer()


def _cause_of(process):
    """An exception that says how a worker's process ended, if a signal ended it."""
    code = process.exitcode
    if code is None or code >= 0:
        return None
    name = signal.strsignal(-code)
    text = f"DataLoader worker (pid {process.pid}) is killed by signal: {name}. "
    if -code == signal.SIGBUS:
        text += (
            "It is possible that dataloader's workers are out of shared memory. "
            "Please try to raise your shared memory limit."
        )
    return RuntimeError(text)
