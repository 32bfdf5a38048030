"""A pipe in another order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(IterDataPipe):
    """A pipe to iterate, of the elements of one to index in another order; a DataLoader seeds it for each epoch.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> sorted(SequenceWrapper([1, 2, 3]).shuffle())
    [1, 2, 3]
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()
        self._shuffled_indices: list[Any] = self.indices

    def set_shuffle(self, shuffle: bool = True) -> ShufflerIterDataPipe:
        """Switch it on or off; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> ShufflerIterDataPipe:
        """Set the seed of the next iterator; returns the pipe."""
        self._seed = seed
        return self

    def __iter__(self) -> Iterator[Any]:
        for index in reversed(self._shuffled_indices) if self._enabled else self.indices:
            yield self.datapipe[index]

    def reset(self) -> None:
        """Draw an order, by the seed that was set or one of torch's generator."""
        if self._enabled:
            if self._seed is None:
                self._seed = int(torch.empty((), dtype=torch.int64).random_().item())
            self._rng.seed(self._seed)
            self._seed = None
            self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
