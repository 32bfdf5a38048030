"""How distributed tensors lie on a mesh: `Shard`, `Replicate` and `Partial`, one for each dimension of the mesh."""

from mindtorch_v2._behaviours.sharded import NormPartial as _NormPartial
from mindtorch_v2._behaviours.sharded import Partial, Placement, Replicate, Shard
from mindtorch_v2._behaviours.sharded import StridedShard as _StridedShard
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta

__all__ = ["DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "TensorMeta", "_NormPartial", "_StridedShard"]
