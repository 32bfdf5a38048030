"""`torch.distributed.tensor.experimental`: functions of pieces, rules for operators of one's own, attention over long sequences."""

from mindtorch_v2.distributed.tensor._dispatch import implicit_replication
from mindtorch_v2.distributed.tensor.experimental._attention import context_parallel
from mindtorch_v2.distributed.tensor.experimental._func_map import local_map
from mindtorch_v2.distributed.tensor.experimental._register_sharding import register_sharding

__all__ = ["context_parallel", "implicit_replication", "local_map", "register_sharding"]
