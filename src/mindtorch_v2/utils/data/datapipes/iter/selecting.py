"""A pipe that leaves elements out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe
from mindtorch_v2.utils.data.datapipes.utils.common import check_picklable, validate_input_col

__all__ = ["FilterIterDataPipe"]


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """A pipe of the elements for which `filter_fn`, called with the element or its columns `input_col`, gives True.

    ValueError if it gives something else than a boolean.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(6)).filter((3).__gt__))
    [0, 1, 2]
    """

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        check_picklable(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col
        validate_input_col(filter_fn, input_col)

    def _stays(self, data: Any) -> bool:
        if self.input_col is None:
            stays = self.filter_fn(data)
        elif isinstance(self.input_col, list | tuple):
            stays = self.filter_fn(*(data[col] for col in self.input_col))
        else:
            stays = self.filter_fn(data[self.input_col])
        if not isinstance(stays, bool):
            raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(stays))
        return stays

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            if self._stays(data):
                yield data
