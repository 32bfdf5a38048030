"""A pipe around a sequence or a dict."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from mindtorch_v2.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """A pipe of the elements of a sequence or dict, of a deep copy of it unless `deepcopy` is False.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper({"a": 1, "b": 2})["b"]
    2
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)
