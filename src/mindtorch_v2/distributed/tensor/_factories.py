"""New distributed tensors: `empty`, `full`, `ones`, `rand`, `randn` and `zeros` of `torch.distributed.tensor`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Placement, Replicate
from mindtorch_v2.distributed import device_mesh as meshes
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._api import DTensor, _placements
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, contiguous_strides
from mindtorch_v2.distributed.tensor._redistribute import redistribute_local

__all__ = ["empty", "full", "ones", "rand", "randn", "zeros"]


def _new(
    make: Callable[..., torch.Tensor],
    size: Any,
    requires_grad: bool,
    dtype: torch.dtype | None,
    device_mesh: DeviceMesh | None,
    placements: Sequence[Placement] | None,
    whole: bool = False,
) -> DTensor:
    """A tensor whose pieces `make(size, dtype=, device=)` makes, or of whose whole each rank takes its piece."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)
    mesh = device_mesh or meshes._current_mesh()
    how = _placements(placements, mesh, len(shape))
    device = mesh.device_type
    if whole:
        values = make(shape, dtype=dtype, device=device)
        meta = TensorMeta(values.shape, tuple(values.stride()), values.dtype)
        local = redistribute_local(values, DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta), how)
        return DTensor(local, DTensorSpec(mesh, how, meta), requires_grad=requires_grad)
    unknown = TensorMeta(torch.Size(shape), contiguous_strides(shape), torch.float32)
    local = make(DTensorSpec(mesh, how, unknown).piece()[0], dtype=dtype, device=device)
    spec = DTensorSpec(mesh, how, unknown._replace(dtype=local.dtype))
    return DTensor(local, spec, requires_grad=requires_grad)


def empty(
    *size: Any,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor whose elements are not set; `size` is that of the whole.

    >>> from mindtorch_v2.distributed.tensor import Shard, empty
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = empty(2, 3, device_mesh=mesh, placements=[Shard(0)])
    >>> x.shape, x.placements
    (torch.Size([2, 3]), (Shard(dim=0),))
    >>> dist.destroy_process_group()
    """
    return _new(torch.empty, size, requires_grad, dtype, device_mesh, placements)


def full(
    size: Sequence[int],
    fill_value: float,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor of one value; `size` is that of the whole.

    >>> from mindtorch_v2.distributed.tensor import Shard, full
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> full((2,), 0.5, device_mesh=mesh, placements=[Shard(0)]).full_tensor()
    tensor([0.5000, 0.5000])
    >>> dist.destroy_process_group()
    """

    def make(shape: Any, **options: Any) -> torch.Tensor:
        return torch.full(shape, fill_value, **options)

    return _new(make, (size,), requires_grad, dtype, device_mesh, placements)


def ones(
    *size: Any,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor of ones; `size` is that of the whole.

    >>> from mindtorch_v2.distributed.tensor import Replicate, ones
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> ones(2, device_mesh=mesh, placements=[Replicate()]).to_local()
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _new(torch.ones, size, requires_grad, dtype, device_mesh, placements)


def zeros(
    *size: Any,
    requires_grad: bool = False,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor of zeros; `size` is that of the whole.

    >>> from mindtorch_v2.distributed.tensor import Replicate, zeros
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> zeros(2, device_mesh=mesh, placements=[Replicate()]).to_local()
    tensor([0., 0.])
    >>> dist.destroy_process_group()
    """
    return _new(torch.zeros, size, requires_grad, dtype, device_mesh, placements)


def rand(
    *size: Any,
    requires_grad: bool = False,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor of numbers drawn from [0, 1): those of one process with the same seed, which ranks must share.

    >>> from mindtorch_v2.distributed.tensor import Shard, rand
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> rand(2, device_mesh=mesh, placements=[Shard(0)]).shape
    torch.Size([2])
    >>> dist.destroy_process_group()
    """
    return _new(torch.rand, size, requires_grad, dtype, device_mesh, placements, whole=True)


def randn(
    *size: Any,
    requires_grad: bool = False,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """A distributed tensor of normal numbers: those of one process with the same seed, which ranks must share.

    >>> from mindtorch_v2.distributed.tensor import Shard, randn
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> randn(2, device_mesh=mesh, placements=[Shard(0)]).shape
    torch.Size([2])
    >>> dist.destroy_process_group()
    """
    return _new(torch.randn, size, requires_grad, dtype, device_mesh, placements, whole=True)
