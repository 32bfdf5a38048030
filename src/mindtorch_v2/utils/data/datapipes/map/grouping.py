"""A pipe that puts elements together."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import DataChunk, MapDataPipe

__all__ = ["BatcherMapDataPipe"]


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """A pipe of lists of `batch_size` elements; the last may be shorter unless `drop_last`.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2, 3]).batch(2)[1]
    [3]
    """

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = (
            datapipe,
            batch_size,
            drop_last,
            wrapper_class,
        )

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        places = range(index * self.batch_size, min((index + 1) * self.batch_size, len(self.datapipe)))
        return self.wrapper_class([self.datapipe[place] for place in places])

    def __len__(self) -> int:
        return (len(self.datapipe) + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size
