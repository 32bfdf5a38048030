"""Back ends that run graphs on the operators' own kernels."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2._decomp import core_aten_decompositions
from mindtorch_v2._dynamo.backends.common import AotAutograd
from mindtorch_v2._dynamo.backends.registry import register_backend
from mindtorch_v2._lowered.partition import min_cut_rematerialization_partition
from mindtorch_v2._lowered.reuse import reuse_memory

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["aot_eager", "aot_eager_decomp_partition", "eager"]


@register_backend(tags=("debug",))
def eager(gm: GraphModule, fake_tensor_inputs: Sequence[Tensor], **kwargs: Any) -> Any:
    """Run the graph of torch functions as it was captured."""
    if kwargs:
        raise TypeError(f"the backend 'eager' takes no options, got {sorted(kwargs)}")
    return gm.forward


def reusing(gm: GraphModule, example_inputs: Any) -> Any:
    """Run a graph of operators as it is, but for results that take the memory of what is not needed any more."""
    return reuse_memory(gm).forward


@functools.cache
def _aot_eager():
    return AotAutograd(fw_compiler=reusing)


@register_backend(tags=("debug",))
def aot_eager(gm: GraphModule, fake_tensor_inputs: Sequence[Tensor], **kwargs: Any) -> Any:
    """Run forward and backward as graphs of operators."""
    return _aot_eager()(gm, fake_tensor_inputs)


@functools.cache
def _decomposed():
    return AotAutograd(
        fw_compiler=reusing,
        decompositions=core_aten_decompositions(),
        partition_fn=min_cut_rematerialization_partition,
    )


@register_backend(tags=("debug",))
def aot_eager_decomp_partition(gm: GraphModule, fake_tensor_inputs: Sequence[Tensor], **kwargs: Any) -> Any:
    """As `aot_eager`, with operators in their parts, and the fewest bytes kept for backward."""
    return _decomposed()(gm, fake_tensor_inputs)
