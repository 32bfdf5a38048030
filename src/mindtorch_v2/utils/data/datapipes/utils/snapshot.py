"""Pipes that go on where another run of them stopped."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils.data.datapipes._hook_iterator import _SnapshotState
from mindtorch_v2.utils.data.graph_settings import apply_random_seed

__all__: list[str] = []


def _simple_graph_snapshot_restoration(datapipe: Any, n_iterations: int, rng: torch.Generator | None = None) -> None:
    """Let the next iterator of a pipe begin behind its first `n_iterations` elements, which are read now.

    `rng` seeds the pipes that are random, as at the time of the snapshot. RuntimeError if it was done already.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> from mindtorch_v2.utils.data.datapipes.utils.snapshot import _simple_graph_snapshot_restoration
    >>> pipe = IterableWrapper(range(5))
    >>> _simple_graph_snapshot_restoration(pipe, 3)
    >>> list(pipe)
    [3, 4]
    """
    if datapipe._snapshot_state == _SnapshotState.Restored:
        raise RuntimeError(
            "Snapshot restoration cannot be applied. You can only restore simple snapshot to the graph if your graph has not "
            "been restored."
        )
    datapipe.reset()
    apply_random_seed(datapipe, rng if rng is not None else torch.Generator())
    elements = iter(datapipe)
    for _ in range(n_iterations):
        next(elements)
    datapipe._fast_forward_iterator = elements
    datapipe._snapshot_state = _SnapshotState.Restored
