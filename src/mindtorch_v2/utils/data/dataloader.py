"""`DataLoader`: batches of a dataset in the order of a sampler, loaded here or in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mindtorch_v2.utils.data import _utils
from mindtorch_v2.utils.data._iterators import (
    _BaseDataLoaderIter,
    _DatasetKind,
    _MultiProcessingDataLoaderIter,
    _sharding_worker_init_fn,
    _SingleProcessDataLoaderIter,
)
from mindtorch_v2.utils.data._utils.collate import default_collate, default_convert
from mindtorch_v2.utils.data._utils.worker import get_worker_info
from mindtorch_v2.utils.data.datapipes.datapipe import (
    IterDataPipe,
    MapDataPipe,
    _IterDataPipeSerializationWrapper,
    _MapDataPipeSerializationWrapper,
)
from mindtorch_v2.utils.data.graph_settings import apply_shuffle_settings
from mindtorch_v2.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from mindtorch_v2._C import Generator
    from mindtorch_v2.utils.data.dataset import Dataset


_T_co = TypeVar("_T_co", covariant=True)
_collate_fn_t = Callable[[list], Any]
_worker_init_fn_t = Callable[[int], None]

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

# What programs import from here besides.
_ALSO_HERE = (_BaseDataLoaderIter, _sharding_worker_init_fn, _utils)


class _InfiniteConstantSampler(Sampler):
    """None for ever: the keys of a stream, which needs none."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """Iterate over batches of `dataset` (`torch.utils.data.DataLoader`).

    Batches are of `batch_size` samples in the order of `sampler` (`shuffle` makes a random one), or what
    `batch_sampler` says; `batch_size=None` gives single samples. `collate_fn` makes a batch of a list of samples.

    With `num_workers` > 0 batches are made in that many processes, `prefetch_factor` (2) ahead for each, and given
    in order unless `in_order=False`. `worker_init_fn(id)` runs first in each. `persistent_workers` keeps them from
    one epoch to the next. `timeout` (seconds, 0 for none) limits the wait for one batch. All random numbers that
    the loader itself needs come from `generator`, or the default one.

    >>> for batch in torch.utils.data.DataLoader(torch.arange(5), batch_size=2):
    ...     print(batch)
    tensor([0, 1])
    tensor([2, 3])
    tensor([4])
    """

    dataset: Dataset[_T_co] = None  # type: ignore[assignment]  # (set by __init__)
    batch_size: int | None = None
    num_workers = 0
    pin_memory = False
    drop_last = False
    timeout: float = 0.0
    sampler: Any = None
    pin_memory_device = ""
    prefetch_factor: int | None = None
    _iterator = None
    __initialized = False

    def __init__(
        self,
        dataset: Dataset[_T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Sequence[Sequence[int]] | Sampler | None = None,
        num_workers: int = 0,
        collate_fn: Callable[..., Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[..., Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers > 0 and prefetch_factor is None:
            prefetch_factor = 2
        elif prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        self.dataset = dataset
        if isinstance(dataset, IterDataPipe):
            self.dataset = _IterDataPipeSerializationWrapper(dataset)
        elif isinstance(dataset, MapDataPipe):
            self.dataset = _MapDataPipeSerializationWrapper(dataset)
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = _DatasetKind.of(dataset)
        if self._dataset_kind == _DatasetKind.Iterable:
            if isinstance(self.dataset, IterDataPipe):
                self.dataset = apply_shuffle_settings(self.dataset, shuffle=shuffle)
                shuffle = None
            self._check_stream_options(shuffle, sampler, batch_sampler)
        shuffle = bool(shuffle)

        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    @staticmethod
    def _check_stream_options(shuffle, sampler, batch_sampler) -> None:
        if shuffle not in {False, None}:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified shuffle option, but got shuffle={shuffle}"
            )
        for name, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                )

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that makes the worker processes: None, a name of a start method, or a context object."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            if self.num_workers == 0:
                raise ValueError(
                    "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                    f"num_workers={self.num_workers}"
                )
            if isinstance(context, str):
                known = multiprocessing.get_all_start_methods()
                if context not in known:
                    raise ValueError(
                        f"multiprocessing_context option should specify a valid start method in {known!r}, but got "
                        f"multiprocessing_context={context!r}"
                    )
                context = multiprocessing.get_context(context)
            if not isinstance(context, multiprocessing.context.BaseContext):
                raise TypeError(
                    "multiprocessing_context option should be a valid context object or a string specifying the "
                    f"start method, but got multiprocessing_context={context}"
                )
        self.__multiprocessing_context = context

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in (
            "batch_size",
            "batch_sampler",
            "sampler",
            "drop_last",
            "dataset",
            "persistent_workers",
        ):
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, val)

    def __iter__(self) -> Iterator[Any]:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """The source of the keys: batches of keys with auto-collation, else single ones."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        """The number of batches; for a stream, an estimate from its own length."""
        if self._dataset_kind != _DatasetKind.Iterable:
            return len(self._index_sampler)
        dataset: Any = self.dataset
        length = self._IterableDataset_len_called = len(dataset)
        if self.batch_size is None:
            return length
        if self.drop_last:
            return length // self.batch_size
        return -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors to run them."""
        if not self.num_workers:
            return
        suggested = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if suggested is None or self.num_workers <= suggested:
            return
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of "
            f"worker in current system is {suggested}, which is smaller than what this DataLoader is going to create. "
            "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, lower "
            "the worker number to avoid potential slowness/freeze if necessary.",
            stacklevel=3,
        )
