"""`loss_parallel`: cross entropy of scores whose classes are cut over the ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mindtorch_v2.distributed.tensor._dispatch import implicit_replication

__all__ = ["loss_parallel"]


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Compute cross entropy where the classes are, without gathering them.

    Scores are a `DTensor` that lies as `Shard(-1)`; targets may be plain tensors, the same on all ranks. Backward belongs into
    the block, too. With weights of classes or label smoothing the scores are gathered.
    """
    with implicit_replication():
        yield
