"""`torch.distributed.fsdp`: parameters, gradients and optimizer states in pieces on all ranks."""

from mindtorch_v2.distributed.fsdp import fully_sharded_data_parallel as _wrapper
from mindtorch_v2.distributed.fsdp._fully_shard import api as _pieces
from mindtorch_v2.distributed.fsdp._fully_shard import policies as _policies
from mindtorch_v2.distributed.fsdp._fully_shard.api import *
from mindtorch_v2.distributed.fsdp._fully_shard.policies import *
from mindtorch_v2.distributed.fsdp.fully_sharded_data_parallel import *

__all__ = [*_pieces.__all__, *_policies.__all__, *_wrapper.__all__]
