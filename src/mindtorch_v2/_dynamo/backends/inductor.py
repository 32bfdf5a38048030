"""The default back end: chains of operators become fused programs, which are kept where they are the faster ones."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2._dynamo.backends.common import AotAutograd
from mindtorch_v2._dynamo.backends.registry import register_backend
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._logging._internal import artifact, is_on
from mindtorch_v2._lowered.fusion import Fused, fuse
from mindtorch_v2._lowered.partition import min_cut_rematerialization_partition
from mindtorch_v2._lowered.reuse import reuse_memory

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.fx.graph_module import GraphModule

__all__ = ["fused", "inductor"]

_ROUNDS = 5  # calls of each that are timed
_TOO_LONG = 0.5  # seconds: of calls as long as this one of each says enough


class _Faster:
    """The faster of two callables that do the same: their first calls are timed by turns, on the processor's clock."""

    def __init__(self, fused: Callable, plain: Callable, name: str) -> None:
        self._run: Callable | None = None
        self._both = (fused, plain)
        self._best = [float("inf"), float("inf")]
        self._calls = 0
        self._name = name

    def __call__(self, *args: Any) -> Any:
        if self._run is not None:
            return self._run(*args)
        turn = self._calls % 2
        self._calls += 1
        start = time.thread_time()
        results = self._both[turn](*args)
        took = time.thread_time() - start
        if self._calls > 2:  # the first ones find neither memory nor code in the caches
            self._best[turn] = min(self._best[turn], took)
        if self._calls >= 2 + 2 * _ROUNDS or (self._calls >= 4 and took > _TOO_LONG):
            self._decide()
        return results

    def _decide(self) -> None:
        fused, plain = self._best
        self._run = self._both[fused > plain]
        kept = "fused" if fused <= plain else "plain"
        counters["inductor"][f"kept_{kept}"] += 1
        artifact(
            "fusion",
            f"{self._name}: {fused * 1e6:.1f} us fused, {plain * 1e6:.1f} us operator by operator: {kept} kept",
        )
        self._both = (self._run, self._run)


def _tell(made: Fused, name: str) -> None:
    counters["inductor"]["fused_kernels"] += len(made.kernels)
    counters["inductor"]["operators_left"] += made.left
    if is_on("fusion"):
        kernels = "\n".join(kernel.text for kernel in made.kernels)
        artifact("fusion", f"{name}: {len(made.kernels)} fused, {made.left} operators beside them\n{kernels}")
    if is_on("output_code"):
        artifact("output_code", f"{name}\n{made.module.print_readable(print_output=False)}")


def fused(gm: GraphModule, example_inputs: Any) -> Callable:
    """Runs a graph of operators with its chains fused, or as it is where that takes less time."""
    counters["inductor"]["graphs"] += 1
    name = f"graph {counters['inductor']['graphs']}"
    made = fuse(gm)
    _tell(made, name)
    plain = reuse_memory(gm).forward
    if not made.kernels:
        return plain
    return _Faster(made.module.forward, plain, name)


@functools.cache
def _aot() -> AotAutograd:
    return AotAutograd(
        fw_compiler=fused, partition_fn=functools.partial(min_cut_rematerialization_partition, fusing=True)
    )


@register_backend
def inductor(gm: GraphModule, fake_tensor_inputs: Sequence[Tensor], **kwargs: Any) -> Any:
    """The default: forward and backward as graphs of operators, in which chains of operators are fused."""
    return _aot()(gm, fake_tensor_inputs)
