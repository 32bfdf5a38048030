"""`DistributedSampler`: each process of a group gets its own part of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

import mindtorch_v2 as torch
from mindtorch_v2.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


class DistributedSampler(Sampler[_T_co]):
    """Every `num_replicas`-th key, starting at `rank`, of an order that all processes agree on.

    The order is shuffled by `seed` and the epoch given to `set_epoch`. It is padded to a multiple of `num_replicas`
    by repeating keys, or cut with `drop_last`. Without `num_replicas` and `rank` the process group is asked.

    >>> list(torch.utils.data.distributed.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            self._require_distributed()
            num_replicas = torch.distributed.get_world_size()
        if rank is None:
            self._require_distributed()
            rank = torch.distributed.get_rank()
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        total = len(dataset)
        if drop_last and total % num_replicas != 0:
            self.num_samples = math.ceil((total - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(total / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    @staticmethod
    def _require_distributed() -> None:
        if not torch.distributed.is_available():
            raise RuntimeError("Requires distributed package to be available")

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(count, generator=generator).tolist()
        else:
            indices = list(range(count))
        if self.drop_last:
            indices = indices[: self.total_size]
        else:
            missing = self.total_size - count
            indices += (indices * math.ceil(missing / count))[:missing] if missing else []
        if len(indices) != self.total_size:
            raise AssertionError(f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})")
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another shuffle; call it before each epoch, in all processes alike."""
        self.epoch = epoch
