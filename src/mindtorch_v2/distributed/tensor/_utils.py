"""Where the pieces of distributed tensors are."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Placement
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, contiguous_strides

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(size, offsets) of this rank's piece of a tensor of `global_shape` that lies so."""
    meta = TensorMeta(torch.Size(global_shape), contiguous_strides(global_shape), torch.float32)
    return DTensorSpec(mesh, tuple(placements), meta).piece()
