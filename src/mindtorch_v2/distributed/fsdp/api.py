"""Settings of `FullyShardedDataParallel`."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "BackwardPrefetch",
    "CPUOffload",
    "FullOptimStateDictConfig",
    "FullStateDictConfig",
    "LocalOptimStateDictConfig",
    "LocalStateDictConfig",
    "MixedPrecision",
    "OptimStateDictConfig",
    "ShardedOptimStateDictConfig",
    "ShardedStateDictConfig",
    "ShardingStrategy",
    "StateDictConfig",
    "StateDictSettings",
    "StateDictType",
]


class ShardingStrategy(enum.Enum):
    """Contents of the pieces: parameters, gradients and optimizer states; not parameters between forward and backward; nothing;
    pieces on a machine and copies on the others.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.ShardingStrategy.FULL_SHARD.value
    1
    """

    FULL_SHARD = enum.auto()
    SHARD_GRAD_OP = enum.auto()
    NO_SHARD = enum.auto()
    HYBRID_SHARD = enum.auto()
    _HYBRID_SHARD_ZERO2 = enum.auto()


class BackwardPrefetch(enum.Enum):
    """When backward gathers the next parameters; always before it needs them here.

    >>> from mindtorch_v2.distributed import fsdp
    >>> [kind.name for kind in fsdp.BackwardPrefetch]
    ['BACKWARD_PRE', 'BACKWARD_POST']
    """

    BACKWARD_PRE = enum.auto()
    BACKWARD_POST = enum.auto()


class StateDictType(enum.Enum):
    """Contents of `state_dict`: whole tensors, this rank's pieces, or distributed tensors.

    >>> from mindtorch_v2.distributed import fsdp
    >>> [kind.name for kind in fsdp.StateDictType]
    ['FULL_STATE_DICT', 'LOCAL_STATE_DICT', 'SHARDED_STATE_DICT']
    """

    FULL_STATE_DICT = enum.auto()
    LOCAL_STATE_DICT = enum.auto()
    SHARDED_STATE_DICT = enum.auto()


@dataclasses.dataclass
class MixedPrecision:
    """Dtypes of the computation, of the sums of gradients and of buffers; None: as they are.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.MixedPrecision(param_dtype=torch.bfloat16).param_dtype
    torch.bfloat16
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    buffer_dtype: torch.dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Any = (torch.nn.modules.batchnorm._BatchNorm,)


@dataclasses.dataclass
class CPUOffload:
    """Whether pieces are kept by the host.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.CPUOffload(offload_params=True)
    CPUOffload(offload_params=True)
    """

    offload_params: bool = False


@dataclasses.dataclass
class StateDictConfig:
    """offload_to_cpu: whether tensors of a state dictionary are on the CPU.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.StateDictConfig(offload_to_cpu=True)
    StateDictConfig(offload_to_cpu=True)
    """

    offload_to_cpu: bool = False


@dataclasses.dataclass
class FullStateDictConfig(StateDictConfig):
    """rank0_only: whether only the first rank gets the whole tensors.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    """

    rank0_only: bool = False


@dataclasses.dataclass
class LocalStateDictConfig(StateDictConfig):
    """This rank's pieces.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.LocalStateDictConfig()
    LocalStateDictConfig(offload_to_cpu=False)
    """


@dataclasses.dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Distributed tensors; they are `DTensor` always.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.ShardedStateDictConfig(offload_to_cpu=True).offload_to_cpu
    True
    """

    _use_dtensor: bool = False


@dataclasses.dataclass
class OptimStateDictConfig:
    """offload_to_cpu: whether tensors of an optimizer's state are on the CPU.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.OptimStateDictConfig()
    OptimStateDictConfig(offload_to_cpu=True)
    """

    offload_to_cpu: bool = True


@dataclasses.dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """rank0_only: whether only the first rank gets the whole tensors.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.FullOptimStateDictConfig(rank0_only=True)
    FullOptimStateDictConfig(offload_to_cpu=True, rank0_only=True)
    """

    rank0_only: bool = False


@dataclasses.dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """This rank's pieces.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.LocalOptimStateDictConfig(offload_to_cpu=True)
    LocalOptimStateDictConfig(offload_to_cpu=True)
    """

    offload_to_cpu: bool = False


@dataclasses.dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Distributed tensors; they are `DTensor` always.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.ShardedOptimStateDictConfig().offload_to_cpu
    True
    """

    _use_dtensor: bool = False


@dataclasses.dataclass
class StateDictSettings:
    """Settings of state dictionaries.

    >>> from mindtorch_v2.distributed import fsdp
    >>> settings = fsdp.StateDictSettings(
    ...     fsdp.StateDictType.FULL_STATE_DICT, fsdp.FullStateDictConfig(), fsdp.FullOptimStateDictConfig()
    ... )
    >>> settings.state_dict_type.name
    'FULL_STATE_DICT'
    """

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
