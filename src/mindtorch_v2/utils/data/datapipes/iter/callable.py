"""Pipes that call a function."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch_v2.utils.data._utils.collate import default_collate
from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe
from mindtorch_v2.utils.data.datapipes.utils.common import check_picklable, validate_input_col

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]


@functional_datapipe("map")
class MapperIterDataPipe(IterDataPipe):
    """A pipe of `fn(element)`, or of elements of which some columns are `fn`'s: `input_col` in, `output_col` out.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2, 3]).map((10).__mul__))
    [10, 20, 30]
    >>> list(IterableWrapper([(1, 2), (3, 4)]).map(int.__neg__, input_col=1))
    [(1, -2), (3, -4)]
    """

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        check_picklable(fn)
        self.datapipe, self.fn, self.input_col = datapipe, fn, input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, list | tuple):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col
        validate_input_col(fn, input_col)

    def _apply(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, list | tuple)
        result = self.fn(*(data[col] for col in self.input_col)) if several else self.fn(data[self.input_col])
        is_tuple = isinstance(data, tuple)
        data = list(data) if is_tuple else data
        if self.output_col is None:
            if several:
                data[self.input_col[0]] = result
                for index in sorted(self.input_col[1:], reverse=True):
                    del data[index]
            else:
                data[self.input_col] = result
        elif self.output_col == -1:
            data.append(result)
        else:
            data[self.output_col] = result
        return tuple(data) if is_tuple else data

    def __iter__(self) -> Iterator[Any]:
        for data in self.datapipe:
            yield self._apply(data)

    def __len__(self) -> int:
        if hasattr(self.datapipe, "__len__"):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


def _collate_columns(conversion: Any, sample: Any) -> Any:
    """A batch of rows as columns, each collated by its function; `conversion` has one for each column, or for some."""
    if not isinstance(conversion, dict):
        raise NotImplementedError("collate: `conversion` is a dict of columns and functions")
    return {name: (function or default_collate)([row[name] for row in sample]) for name, function in conversion.items()}


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """A pipe of batches as tensors, by `collate_fn`, `default_collate` if there is none.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2, 3, 4]).batch(2).collate())
    [tensor([1, 2]), tensor([3, 4])]
    """

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        if collate_fn is not None:
            conversion = collate_fn
        super().__init__(
            datapipe, conversion if callable(conversion) else functools.partial(_collate_columns, conversion)
        )
