"""Options of the chunked computation of `linear_cross_entropy`."""

from dataclasses import dataclass
from typing import Any

__all__ = ["LinearCrossEntropyOptions"]


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` is to be cut into chunks of the batch.

    Only `options=None`, the computation in one piece, is implemented; giving options to the function raises.

    >>> from mindtorch_v2.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
    >>> LinearCrossEntropyOptions(batch_chunk_size=128).batch_chunk_size
    128
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None
