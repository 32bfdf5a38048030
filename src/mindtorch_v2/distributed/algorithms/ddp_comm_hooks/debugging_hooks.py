"""A hook that sends nothing, which shows what communication costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2.futures import Future

if TYPE_CHECKING:
    from mindtorch_v2.nn.parallel._reducer import GradBucket

__all__ = ["noop_hook"]


def noop_hook(_: Any, bucket: GradBucket) -> Future:
    """Leave each rank its own gradients.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, noop_hook)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    done: Future = Future()
    done.set_result(bucket.buffer())
    return done
