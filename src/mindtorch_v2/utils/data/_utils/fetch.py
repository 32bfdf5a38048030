"""Fetchers: from what a sampler gives to a batch, for datasets by index and for streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _BaseDatasetFetcher:
    """`fetch(key)` gives one batch; with `auto_collation` the key is a list of keys, one for each sample."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Take as many samples from the stream as there are keys; StopIteration at its end."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        data = []
        for _ in possibly_batched_index:
            try:
                data.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(data)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Look the keys up."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            data = self.dataset[possibly_batched_index]
        elif callable(getattr(self.dataset, "__getitems__", None)):
            data = self.dataset.__getitems__(possibly_batched_index)
        else:
            data = [self.dataset[index] for index in possibly_batched_index]
        return self.collate_fn(data)
