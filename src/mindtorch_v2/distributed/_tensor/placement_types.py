"""Placements where earlier programs import them from; by their names."""

from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from mindtorch_v2.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensorSpec", "Partial", "Placement", "Replicate", "Shard", "TensorMeta"]
