"""`register_sharding`: how an operator of one's own runs on distributed tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import RULES, Call, Operand, Replicate, Strategy
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, contiguous_strides

__all__ = ["register_sharding"]


def register_sharding(op: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register how an operator, or several, may run along one dimension of a mesh.

    The decorated function gets the call's arguments, with a `DTensorSpec` for each tensor, and returns a list of pairs: the
    placements of the results, and those of the arguments, None for arguments that are no tensors. That all tensors are whole
    is possible always.

    Args:
        op: an overload of `torch.ops`, or a list of them.

    >>> from mindtorch_v2.distributed.tensor import Replicate, Shard
    >>> from mindtorch_v2.distributed.tensor.experimental import register_sharding
    >>> @torch.library.custom_op("docs_sharding::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> _ = double.register_fake(torch.empty_like)
    >>> @register_sharding(torch.ops.docs_sharding.double.default)
    ... def rule(x):
    ...     return [([Replicate()], [Replicate()]), ([Shard(0)], [Shard(0)])]
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = dist.tensor.distribute_tensor(torch.tensor([1.0, 2.0]), mesh, [Shard(0)])
    >>> double(x).placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """
    overloads = op if isinstance(op, list | tuple) else [op]

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(call: Call) -> Iterable[Strategy]:
            values = [_described(each) for each in call.values]
            for outputs, inputs in function(*values):
                placed = [each for each, value in zip(inputs, call.values, strict=False) if isinstance(value, Operand)]
                yield Strategy(
                    tuple(each or Replicate() for each in outputs), tuple(each or Replicate() for each in placed)
                )

        for each in overloads:
            RULES[each._handle] = rule
        return function

    return register


def _described(value: Any) -> Any:
    if isinstance(value, Operand):
        meta = TensorMeta(torch.Size(value.shape), contiguous_strides(value.shape), value.dtype)
        return DTensorSpec(None, (), meta)  # type: ignore[arg-type]  # (rules are asked before there is a mesh)
    return [_described(each) for each in value] if isinstance(value, list | tuple) else value
