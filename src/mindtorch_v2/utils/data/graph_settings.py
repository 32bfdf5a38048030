"""Settings for all pipes that a pipe is made of: their order, seeds and shares."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
from mindtorch_v2.utils.data.graph import traverse_dps

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: dict[int, tuple[Any, dict]]) -> list[Any]:
    """The pipes of a graph of `traverse_dps`, each once.

    >>> from mindtorch_v2.utils.data.graph import traverse_dps
    >>> from mindtorch_v2.utils.data.graph_settings import get_all_graph_pipes
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> graph = traverse_dps(IterableWrapper(range(4)).batch(2).map(len))
    >>> [type(pipe).__name__ for pipe in get_all_graph_pipes(graph)]
    ['MapperIterDataPipe', 'BatcherIterDataPipe', 'IterableWrapperIterDataPipe']
    """
    found: dict[int, Any] = {}

    def visit(level: dict[int, tuple[Any, dict]]) -> None:
        for place, (pipe, below) in level.items():
            found.setdefault(place, pipe)
            visit(below)

    visit(graph)
    return list(found.values())


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Say to every pipe that shares out of how many processes this is which; RuntimeError for one behind another.

    >>> from mindtorch_v2.utils.data.graph_settings import apply_sharding
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(apply_sharding(IterableWrapper(range(6)).sharding_filter(), 2, 1))
    [1, 3, 5]
    """

    def visit(level: dict[int, tuple[Any, dict]], before: Any) -> None:
        for pipe, below in level.values():
            shares = hasattr(pipe, "apply_sharding") and inspect.ismethod(pipe.apply_sharding)
            if shares:
                if before is not None:
                    raise RuntimeError(
                        "Sharding twice on a single pipeline is likely unintended and will cause data loss. "
                        f"Sharding already applied to {before} while trying to apply to {pipe}"
                    )
                known = inspect.signature(pipe.apply_sharding).parameters
                more = {"sharding_group": sharding_group} if len(known) > 2 else {}  # older ones know of no groups
                pipe.apply_sharding(num_of_instances, instance_id, **more)
            visit(below, pipe if shares else before)

    visit(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch all pipes that shuffle on or off; one is put behind, with a warning, where there is none.

    >>> from mindtorch_v2.utils.data.graph_settings import apply_shuffle_settings
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(apply_shuffle_settings(IterableWrapper(range(4)).shuffle(), shuffle=False))
    [0, 1, 2, 3]
    """
    if shuffle is None:
        return datapipe
    shufflers = [pipe for pipe in get_all_graph_pipes(traverse_dps(datapipe)) if hasattr(pipe, "set_shuffle")]
    if not shufflers and shuffle:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. "
            "Be aware that the default buffer size might not be sufficient for your task.",
            stacklevel=2,
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for each in shufflers:
        each.set_shuffle(shuffle)
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """Seed all pipes that are random: an older name of `apply_random_seed`.

    >>> import warnings
    >>> from mindtorch_v2.utils.data.graph_settings import apply_shuffle_seed
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> with warnings.catch_warnings(action="ignore"):
    ...     pipe = apply_shuffle_seed(IterableWrapper(range(5)).shuffle(), torch.Generator().manual_seed(0))
    >>> sorted(pipe)
    [0, 1, 2, 3, 4]
    """
    return apply_random_seed(datapipe, rng)


def apply_random_seed(datapipe: Any, rng: torch.Generator) -> Any:
    """Seed all pipes that are random, those with a method `set_seed`, each by a number of `rng`.

    >>> from mindtorch_v2.utils.data.graph_settings import apply_random_seed
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> pipe = IterableWrapper(range(5)).shuffle()
    >>> first = list(apply_random_seed(pipe, torch.Generator().manual_seed(0)))
    >>> first == list(apply_random_seed(pipe, torch.Generator().manual_seed(0)))
    True
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if hasattr(pipe, "set_seed") and inspect.ismethod(pipe.set_seed):
            pipe.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe
