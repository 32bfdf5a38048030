"""Communication hooks for `DistributedDataParallel.register_comm_hook`."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
)
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState

if TYPE_CHECKING:
    from mindtorch_v2.nn.parallel import DistributedDataParallel

__all__ = [
    "DDPCommHookType",
    "debugging_hooks",
    "default_hooks",
    "post_localSGD_hook",
    "powerSGD_hook",
    "register_ddp_comm_hook",
]


def _absent(name):
    return unavailable_function(f"torch.distributed.algorithms.ddp_comm_hooks.quantization_hooks.{name}")


class DDPCommHookType(enum.Enum):
    """The hooks by name, for `register_ddp_comm_hook`; a value is (the hook, the rank of PowerSGD's matrices or None).

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import DDPCommHookType
    >>> DDPCommHookType.FP16_COMPRESS.name, len(DDPCommHookType)
    ('FP16_COMPRESS', 10)
    """

    ALLREDUCE = default_hooks.allreduce_hook, None
    FP16_COMPRESS = default_hooks.fp16_compress_hook, None
    BF16_COMPRESS = default_hooks.bf16_compress_hook, None
    QUANTIZE_PER_TENSOR = _absent("quantization_pertensor_hook"), None
    QUANTIZE_PER_CHANNEL = _absent("quantization_perchannel_hook"), None
    POWER_SGD = powerSGD_hook.powerSGD_hook, 1
    POWER_SGD_RANK2 = powerSGD_hook.powerSGD_hook, 2
    BATCHED_POWER_SGD = powerSGD_hook.batched_powerSGD_hook, 1
    BATCHED_POWER_SGD_RANK2 = powerSGD_hook.batched_powerSGD_hook, 2
    NOOP = debugging_hooks.noop_hook, None


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: Any = None) -> None:
    """Register a hook by its name; `state` is the group whose ranks average (None is everybody).

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    hook, rank = comm_hook_type.value
    model.register_comm_hook(state if rank is None else PowerSGDState(state, matrix_approximation_rank=rank), hook)
