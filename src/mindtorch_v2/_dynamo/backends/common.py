"""`aot_autograd`: back ends that are given graphs of operators, forward and backward apart."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mindtorch_v2._dynamo.utils import counters
from mindtorch_v2._logging._internal import artifact, is_on
from mindtorch_v2._lowered import partition
from mindtorch_v2._lowered.lowering import Lowering

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.fx.graph_module import GraphModule


_log = logging.getLogger("torch._functorch.aot_autograd")

__all__ = ["AotAutograd", "aot_autograd"]


class AotAutograd:
    """A back end made of compilers of operators' graphs; see `aot_autograd`."""

    def __init__(self, **options: Any) -> None:
        self._options = {
            "partition_fn": partition.default_partition,
            "keep_inference_input_mutations": True,
            **options,
        }
        self.__name__ = "aot_autograd"

    def __call__(self, gm: GraphModule, example_inputs: Any, **kwargs: Any) -> Callable[..., Any]:
        def refused(reason: str | None) -> None:
            counters["aot_autograd"]["not_ok"] += 1
            counters["aot_autograd_refusals"][reason] += 1
            _log.warning("aot_autograd: the program runs without a graph of operators: %s", reason)

        def observe(kind: str, module: Any) -> None:
            name = "aot_joint_graph" if kind == "joint" else "aot_graphs"
            if is_on(name):
                artifact(name, f"{kind} graph\n{module.print_readable(print_output=False)}")

        lowering = Lowering(
            getattr(gm, "forward", gm),
            refused=refused,
            observe=observe,
            tell=functools.partial(artifact, "fusion"),
            **self._options,
        )
        counters["aot_autograd"]["total"] += 1

        def run(*inputs: Tensor) -> tuple:
            return tuple(lowering(*inputs))

        run.lowering = lowering  # type: ignore[attr-defined]  # (a mark on the function)
        return run


def aot_autograd(
    *, fw_compiler: Callable[..., Any], bw_compiler: Callable[..., Any] | None = None, **options: Any
) -> Any:
    """A back end whose compilers get graphs of operators, without writes, forward and backward each.

    `fw_compiler(graph_module, example_inputs)` gives what runs in place of the graph module. Options: `partition_fn`,
    `decompositions`, `inference_compiler`, `keep_inference_input_mutations`, and `strict=True`, with which a program that
    has no such graph is an error, and does not run as it is.

    >>> from mindtorch_v2._dynamo.backends.common import aot_autograd
    >>> def show(module, inputs):
    ...     print([str(node.target) for node in module.graph.nodes if node.op == "call_function"])
    ...     return module
    >>> torch.compile(lambda x: x.relu_(), backend=aot_autograd(fw_compiler=show))(torch.zeros(1))
    ['aten.relu.default', 'aten.copy_.default']
    tensor([0.])
    """
    return AotAutograd(fw_compiler=fw_compiler, bw_compiler=bw_compiler, **options)
