"""`ShardedGradScaler`: a gradient scaler whose ranks skip the same steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2.amp.grad_scaler import GradScaler
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed._reduce_op import RedOpType

if TYPE_CHECKING:
    from mindtorch_v2.distributed._groups import ProcessGroup
    from mindtorch_v2.types import Device

__all__ = ["ShardedGradScaler"]


class ShardedGradScaler(GradScaler):
    """A `torch.amp.GradScaler` for gradients in pieces: if a piece is infinite on one rank, all ranks skip the step.

    Args:
        device, init_scale, backoff_factor, growth_factor, growth_interval, enabled: as of `GradScaler`.
        process_group: the ranks; all by default.

    >>> from mindtorch_v2.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> scaler = ShardedGradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(torch.tensor(2.0))
    tensor(16.)
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device: Device = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self.process_group = process_group

    def _unscale_grads_(self, optimizer: Any, inv_scale: Any, found_inf: Any, allow_fp16: bool = True) -> dict:
        # A rank may have no piece of any gradient, and still has to hear of the others'.
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, True) or {found_inf.device: found_inf}
        works = [
            collectives.all_reduce(each, RedOpType.MAX, self.process_group, async_op=True) for each in found.values()
        ]
        for work in works:
            work.wait()
        return found
