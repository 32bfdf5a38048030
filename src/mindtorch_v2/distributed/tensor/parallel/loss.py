"""`loss_parallel`: cross entropy of scores whose classes are cut over the ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mindtorch_v2.distributed.tensor._dispatch import implicit_replication

__all__ = ["loss_parallel"]


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Compute cross entropy where the classes are, without gathering them.

    Scores are a `DTensor` that lies as `Shard(-1)`; targets may be plain tensors, the same on all ranks. Backward belongs into
    the block, too. With weights of classes or label smoothing the scores are gathered.

    >>> from mindtorch_v2.distributed.tensor import Shard, distribute_tensor
    >>> from mindtorch_v2.distributed.tensor.parallel import loss_parallel
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> scores = distribute_tensor(torch.zeros(1, 4, requires_grad=True), mesh, [Shard(1)])
    >>> with loss_parallel():
    ...     loss = torch.nn.functional.cross_entropy(scores, torch.tensor([2]))
    ...     print(f"{loss.full_tensor().item():.4f}")
    1.3863
    >>> dist.destroy_process_group()
    """
    with implicit_replication():
        yield
