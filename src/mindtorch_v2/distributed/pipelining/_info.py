"""Facts of the whole pipeline, which its stages are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mindtorch_v2.fx import Graph

__all__ = ["PipeInfo"]


class PipeInfo(NamedTuple):
    """The graph of a pipeline, the number of its stages, and whether a loss is in it."""

    graph: Graph
    num_stages: int
    has_loss_and_backward: bool
