"""A pipe that calls a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import MapDataPipe
from mindtorch_v2.utils.data.datapipes.utils.common import check_picklable

__all__ = ["MapperMapDataPipe", "default_fn"]


def default_fn(data: Any) -> Any:
    """Return `data`.

    >>> from mindtorch_v2.utils.data.datapipes.map.callable import default_fn
    >>> default_fn(3)
    3
    """
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """A pipe of `fn(element)`.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2, 3]).map((10).__mul__)[2]
    30
    """

    def __init__(self, datapipe: Any, fn: Callable[[Any], Any] = default_fn) -> None:
        if fn is not default_fn:
            check_picklable(fn)
        self.datapipe, self.fn = datapipe, fn

    def __len__(self) -> int:
        return len(self.datapipe)

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])
