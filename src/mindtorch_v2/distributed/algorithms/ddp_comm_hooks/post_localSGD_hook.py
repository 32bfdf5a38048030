"""Averages over all ranks at first, and later over neighbours only, or over nobody: parameters are averaged now and then instead
(`torch.distributed.algorithms.model_averaging`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

if TYPE_CHECKING:
    from mindtorch_v2.futures import Future
    from mindtorch_v2.nn.parallel._reducer import GradBucket

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """Settings of `post_localSGD_hook`, and how many passes there were.

    Args:
        process_group: the ranks that average at first; None is everybody.
        subgroup: the ranks that average later; None are all that `new_subgroups()` makes of this machine's.
        start_localSGD_iter: the pass at which "later" begins.
        post_local_gradient_allreduce: whether the `subgroup` averages later; else each rank keeps its own gradients.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
    >>> state = PostLocalSGDState(process_group=None, subgroup=None, start_localSGD_iter=100)
    >>> state.start_localSGD_iter, state.iter
    (100, 0)
    """

    def __init__(
        self, process_group: Any, subgroup: Any, start_localSGD_iter: int, post_local_gradient_allreduce: bool = True
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a pass, at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future:
    """The averages over the ranks whose turn it is.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as local_sgd
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> state = local_sgd.PostLocalSGDState(process_group=None, subgroup=None, start_localSGD_iter=100)
    >>> model.register_comm_hook(state, local_sgd.post_localSGD_hook)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> model.module.weight.grad, state.iter
    (tensor([[2., 3.]]), 1)
    >>> dist.destroy_process_group()
    """
    early = state.iter < state.start_localSGD_iter
    state.maybe_increase_iter(bucket)
    if early:
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    return allreduce_hook(_neighbours(state), bucket)


def _neighbours(state):
    if state.subgroup is None:
        state.subgroup, _ = torch.distributed.new_subgroups()
    return state.subgroup
