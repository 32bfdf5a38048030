"""The default back end: chains of operators become fused programs, which are kept where they are the faster ones."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2._core.deterministic import are_deterministic_algorithms_enabled
from mindtorch_v2._dynamo.backends.common import AotAutograd
from mindtorch_v2._dynamo.backends.recorded import Recorded, reason_against
from mindtorch_v2._dynamo.backends.registry import register_backend
from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._inductor import config
from mindtorch_v2._logging._internal import artifact, is_on
from mindtorch_v2._lowered.device_chain import ChainKernel
from mindtorch_v2._lowered.fusion import Fused, fuse
from mindtorch_v2._lowered.layers import with_layers
from mindtorch_v2._lowered.partition import min_cut_rematerialization_partition
from mindtorch_v2._lowered.reuse import reuse_memory

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.fx.graph_module import GraphModule

__all__ = ["fused", "inductor", "recorded"]

_log = logging.getLogger("torch._dynamo")
_said = False
_ROUNDS = 5  # calls of each that are timed
_TOO_LONG = 0.5  # seconds: of calls as long as this one of each says enough


class _Fastest:
    """The fastest of callables that do the same: their first calls are timed by turns, on the processor's clock.

    One that raises NotImplementedError, as a layer does that the machine does not have, is out. `graphs` has the graph of each way, by
    its name.
    """

    def __init__(self, ways: dict[str, Callable], graphs: dict[str, GraphModule], name: str) -> None:
        self._run: Callable | None = None
        self._ways = ways
        self.graphs = graphs
        self._best = dict.fromkeys(ways, float("inf"))
        self._calls = 0
        self._name = name

    @property
    def names(self) -> list[str]:
        """The names of the ways, the one that is kept before others."""
        return [*self._ways, *(name for name in self.graphs if name not in self._ways)]

    def __call__(self, *args: Any) -> Any:
        if self._run is not None:
            return self._run(*args)
        names = list(self._ways)
        way = names[self._calls % len(names)]
        self._calls += 1
        start = time.thread_time()
        try:
            results = self._ways[way](*args)
        except NotImplementedError as reason:
            if len(self._ways) == 1:
                raise
            artifact("fusion", f"{self._name}: {way} is out: {reason}")
            self._calls = 0
            del self._ways[way], self._best[way], self.graphs[way]
            return self(*args)
        took = time.thread_time() - start
        if self._calls > len(names):  # the first ones find neither memory nor code in the caches
            self._best[way] = min(self._best[way], took)
        rounds, place = divmod(self._calls, len(names))
        if place == 0 and (rounds > _ROUNDS or (rounds > 1 and took > _TOO_LONG)):
            self._decide()
        return results

    def _decide(self) -> None:
        kept = min(self._best, key=self._best.__getitem__)
        self._run = self._ways[kept]
        counters["inductor"][f"kept_{kept}"] += 1
        times = ", ".join(f"{took * 1e6:.1f} us {way}" for way, took in self._best.items())
        artifact("fusion", f"{self._name}: {times}: {kept} kept")
        self._ways = {kept: self._run}


def _say_that_nothing_is_gained(gm: GraphModule, name: str) -> None:
    """Tell the user, once in a process: a program that is compiled in vain looks like one that is not."""
    global _said
    calls = sum(node.op == "call_function" for node in gm.graph.nodes)
    if _said or not calls:
        return
    _said = True
    _log.warning(
        "torch.compile brings nothing to %s, in which no operators fuse (it has %d): it runs as it would without. "
        'TORCH_LOGS="fusion" tells of each graph; this is said once.',
        name,
        calls,
    )


def _tell(made: Fused, name: str) -> None:
    counters["inductor"]["fused_kernels"] += len(made.kernels)
    counters["inductor"]["operators_left"] += made.left
    if is_on("fusion"):
        kernels = "\n".join(kernel.text for kernel in made.kernels)
        artifact("fusion", f"{name}: {len(made.kernels)} fused, {made.left} operators beside them\n{kernels}")
    if is_on("output_code"):
        artifact("output_code", f"{name}\n{made.module.print_readable(print_output=False)}")


def fused(gm: GraphModule, example_inputs: Any, inference: bool = False) -> Callable:
    """Run a graph of operators with its chains fused, or as it is where that takes less time.

    Of a graph of `inference` products and convolutions become layers with packed weights.
    """
    counters["inductor"]["graphs"] += 1
    name = f"graph {counters['inductor']['graphs']}"
    made = fuse(gm)
    _tell(made, name)
    ways: dict[str, Callable] = {}
    graphs = {"fused": made.module, "plain": gm}
    if inference and not are_deterministic_algorithms_enabled():  # results of the ways differ in the last bits
        layered = with_layers(gm, packs_lent=config.freezing)
        if layered.kernels:
            counters["inductor"]["layers"] += len(layered.kernels)
            if is_on("fusion"):
                artifact("fusion", "\n".join(kernel.text for kernel in layered.kernels))
            graphs["layers"] = fuse(layered.module).module
            ways["layers"] = graphs["layers"].forward
    if made.kernels:
        ways["fused"] = made.module.forward
        if any(isinstance(kernel, ChainKernel) for kernel in made.kernels):
            return ways["fused"]  # the processor's clock says nothing of a device's kernels, of which these are fewer
    ways["plain"] = reuse_memory(gm).forward
    if len(ways) == 1:
        _say_that_nothing_is_gained(gm, name)
    return _Fastest(ways, graphs, name)


def recorded(gm: GraphModule, example_inputs: Any, inference: bool = False) -> Callable:
    """The same, recorded and replayed on a GPU; as it is where that is not possible, which the log `cudagraphs` says."""
    run = fused(gm, example_inputs, inference)
    name = f"graph {counters['inductor']['graphs']}"
    reason = reason_against(gm)
    if reason is None:
        return Recorded(run, name)
    artifact("cudagraphs", f"{name} is not recorded: {reason}")
    return run


@functools.cache
def _aot(compiler: Callable) -> AotAutograd:
    return AotAutograd(
        fw_compiler=compiler,
        inference_compiler=functools.partial(compiler, inference=True),
        partition_fn=functools.partial(min_cut_rematerialization_partition, fusing=True),
        whole=True,
    )


@register_backend
def inductor(gm: GraphModule, fake_tensor_inputs: Sequence[Tensor], mode: str = "default", **kwargs: Any) -> Any:
    """The default: forward and backward as graphs of operators, in which chains of operators are fused.

    With the modes "reduce-overhead" and "max-autotune" those on GPUs are recorded and replayed.
    """
    return _aot(recorded if mode in ("reduce-overhead", "max-autotune") else fused)(gm, fake_tensor_inputs)
