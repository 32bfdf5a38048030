"""Averages as they are, or sent in sixteen bits.

```text
model.register_comm_hook(None, torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook)
```
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.futures import Future


__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _average(group, tensor):
    tensor.div_(torch.distributed.get_world_size(group))
    return torch.distributed.all_reduce(tensor, group=group, async_op=True).get_future()


def allreduce_hook(process_group: Any, bucket: Any) -> Any:
    """The averages over a group (None is everybody).

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, allreduce_hook)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    return _average(process_group, bucket.buffer()).then(lambda done: done.value()[0])


def _compress(dtype, hook, state, bucket):
    whole = bucket.buffer()
    bucket.set_buffer(whole.to(dtype))

    def restore(done: Future) -> torch.Tensor:
        value = done.value()
        return whole.copy_(value[0] if isinstance(value, (list, tuple)) else value)

    future = hook(state, bucket)
    bucket.set_buffer(whole)
    return future.then(restore)


def fp16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The averages over a group, sent as float16.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, fp16_compress_hook)
    >>> model(torch.tensor([[2.0, 3.0001]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    return _compress(torch.float16, allreduce_hook, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The averages over a group, sent as bfloat16.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.default_hooks import bf16_compress_hook
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, bf16_compress_hook)
    >>> model(torch.tensor([[2.0, 3.001]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    return _compress(torch.bfloat16, allreduce_hook, process_group, bucket)


def fp16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Another hook, on gradients in float16.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))
    >>> model(torch.tensor([[2.0, 3.0001]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    return lambda state, bucket: _compress(torch.float16, hook, state, bucket)


def bf16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Another hook, on gradients in bfloat16.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, default_hooks.bf16_compress_wrapper(default_hooks.allreduce_hook))
    >>> model(torch.tensor([[2.0, 3.001]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    return lambda state, bucket: _compress(torch.bfloat16, hook, state, bucket)
