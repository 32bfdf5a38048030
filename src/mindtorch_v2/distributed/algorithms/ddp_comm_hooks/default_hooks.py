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
    """The averages over a group (None is everybody)."""
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
    """The averages over a group, sent as float16."""
    return _compress(torch.float16, allreduce_hook, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Any:
    """The averages over a group, sent as bfloat16."""
    return _compress(torch.bfloat16, allreduce_hook, process_group, bucket)


def fp16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Another hook, on gradients in float16."""
    return lambda state, bucket: _compress(torch.float16, hook, state, bucket)


def bf16_compress_wrapper(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Another hook, on gradients in bfloat16."""
    return lambda state, bucket: _compress(torch.bfloat16, hook, state, bucket)
