"""One parameter that ranks hold in pieces, and that is whole while its module computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Placement, Replicate, Shard, StridedShard, chunk_bounds
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.fsdp._fully_shard.policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from mindtorch_v2.distributed.tensor._api import DTensor
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, meta_of

__all__ = ["ShardedParameter"]


class ShardedParameter:
    """A parameter of one or several modules, whose pieces lie on the last dimension of a mesh.

    Args:
        owners: (module, name) of every place where the parameter stands.
        parameter: what stands there now; it may be distributed over other dimensions of the mesh.
        mesh: of one dimension, or of two: copies, pieces.
        placement: how it is to be cut.
        mixed: dtypes.
        offload: where pieces are kept.
    """

    def __init__(
        self,
        owners: list[tuple[torch.nn.Module, str]],
        parameter: torch.nn.Parameter,
        mesh: DeviceMesh,
        placement: Shard | None,
        mixed: MixedPrecisionPolicy,
        offload: OffloadPolicy,
    ) -> None:
        self.owners, self.mesh, self.mixed = owners, mesh, mixed
        self.offloaded = isinstance(offload, CPUOffloadPolicy)
        self.dim = 0 if placement is None else placement.dim % max(1, parameter.dim())
        self.parts = mesh.size(mesh.ndim - 1)
        place = mesh.get_coordinate()
        if place is None:
            raise RuntimeError(f"fully_shard: this rank is not in {mesh}")
        self.rank = place[-1]
        self.tensor_parallel = parameter._spec if isinstance(parameter, DTensor) else None
        data = parameter._local_tensor if isinstance(parameter, DTensor) else parameter.detach()
        if not data.is_meta and data.device.type != mesh.device_type:
            data = data.to(mesh.device_type)
        if data.dim() == 0:
            raise ValueError(
                "fully_shard doesn't support scalar parameters. Change the parameter to a 1D tensor with numel equal to 1."
            )
        # A parameter without memory gets it before the first forward pass, where the ranks' tensors are.
        self.device = torch.device(mesh.device_type) if data.is_meta else data.device
        self.dtype, self.size = data.dtype, tuple(data.shape)
        if self.dim != 0 and self.size[self.dim] % self.parts:
            raise NotImplementedError(
                f"FSDP does not support uneven sharding on dim {self.dim}: {self.size} (world size: {self.parts})"
            )
        self.step = chunk_bounds(self.size[self.dim], self.parts, 0)[1]  # rows of the longest piece
        self.rest = math.prod(self.size) // max(1, self.size[self.dim])  # elements of a row
        self.spec = self._spec_of(parameter, data)
        piece = data.narrow(self.dim, *chunk_bounds(self.size[self.dim], self.parts, self.rank)).clone(
            memory_format=torch.contiguous_format
        )
        if self.offloaded and not data.is_meta:
            piece = piece.cpu()
        self._sharded: Any = torch.nn.Parameter(
            DTensor(piece, self.spec, requires_grad=False), requires_grad=parameter.requires_grad
        )
        self._whole: torch.nn.Parameter | None = None
        self.register(self._sharded)

    def _spec_of(self, parameter: Any, data: torch.Tensor) -> DTensorSpec:
        """Where the pieces are: on this mesh, or on the whole of which this one and that of the tensor are parts."""
        cut: Placement = Shard(self.dim)
        copies: list[Placement] = [Replicate()] * (self.mesh.ndim - 1)
        if self.tensor_parallel is None:
            return DTensorSpec(self.mesh, (*copies, cut), meta_of(data))
        other = self.tensor_parallel
        root = self.mesh._get_root_mesh()
        if other.mesh._get_root_mesh() != root or root is self.mesh:
            raise ValueError(
                "FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh, but got: "
                f"DP's global mesh: {root}, TP/EP's global mesh: {other.mesh._get_root_mesh()}"
            )
        dims = [*self.mesh._dims, *other.mesh._dims]
        factor = math.prod(other.mesh.size(dim) for dim, each in enumerate(other.placements) if each.is_shard(self.dim))
        if factor > 1:
            cut = StridedShard(self.dim, split_factor=factor)
        made = dict(zip(dims, (*copies, cut, *other.placements), strict=True))
        mesh = root if len(dims) == root.ndim else root._part(sorted(dims))
        return DTensorSpec(mesh, tuple(made[dim] for dim in sorted(dims)), other.tensor_meta)

    # ---- what stands in the modules ----

    def register(self, parameter: Any) -> None:
        for module, name in self.owners:
            module._parameters[name] = parameter

    @property
    def sharded(self) -> Any:
        """The parameter of which this rank has a piece: what stands in the modules, if a program put another one there."""
        module, name = self.owners[0]
        present: Any = module._parameters[name]
        if present is not self._whole and present is not self._sharded and isinstance(present, DTensor):
            self._sharded = present
            self.register(present)
        return self._sharded

    def show_sharded(self) -> None:
        self.register(self.sharded)

    # ---- gathering ----

    @property
    def whole_dtype(self) -> torch.dtype:
        """The dtype of the whole parameter."""
        return self.mixed.param_dtype or self.dtype if self.dtype.is_floating_point else self.dtype

    def row(self) -> torch.Tensor:
        """This rank's piece as it is sent: rows of the cut dimension first, filled up to the longest piece's length."""
        local = self.sharded._local_tensor
        if local.device != self.device:
            local = local.to(self.device)
        local = local.detach().to(self.whole_dtype)
        if self.dim:
            local = local.movedim(self.dim, 0)
        flat = local.reshape(-1)
        count = self.step * self.rest
        if flat.numel() == count:
            return flat
        made = flat.new_zeros(count)
        made[: flat.numel()].copy_(flat)
        return made

    def take(self, rows: torch.Tensor) -> None:
        """Become whole, of all ranks' rows."""
        if self._whole is None:
            data = torch.empty(self.size, dtype=self.whole_dtype, device=self.device)
            made: Any = data
            if self.tensor_parallel is not None:
                spec = self.tensor_parallel
                meta = TensorMeta(spec.shape, spec.stride, self.whole_dtype)
                made = DTensor(data, DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=False)
            self._data = data
            self._whole = torch.nn.Parameter(made, requires_grad=self.sharded.requires_grad)
            self._bytes = data.untyped_storage().size()
        elif self._data.untyped_storage().size() != self._bytes:
            self._data.untyped_storage().resize_(self._bytes)
        self._whole.requires_grad_(self.sharded.requires_grad)
        # `.data` has a version of its own: what autograd saved of the parameter is still valid.
        self._data.data.copy_(self._joined(rows))
        self.register(self._whole)

    def _joined(self, rows: torch.Tensor) -> torch.Tensor:
        """The whole of all ranks' rows."""
        if self.dim == 0 and self.step * self.parts == self.size[0]:
            return rows.view(self.size)
        shape = [*self.size[: self.dim], *self.size[self.dim + 1 :]]
        lengths = [chunk_bounds(self.size[self.dim], self.parts, rank)[1] for rank in range(self.parts)]
        pieces = [rows[rank, : length * self.rest].view(length, *shape) for rank, length in enumerate(lengths)]
        return torch.cat(pieces).movedim(0, self.dim)

    def release(self) -> None:
        """Give the memory of the whole back. What autograd saved of it is there again when it is gathered again."""
        if self._whole is not None:
            self._data.untyped_storage().resize_(0)
        self.show_sharded()

    def write_back(self) -> None:
        """Take this rank's piece from the whole."""
        start, length = chunk_bounds(self.size[self.dim], self.parts, self.rank)
        with torch.no_grad():
            self.sharded._local_tensor.copy_(self._data.narrow(self.dim, start, length))

    # ---- gradients ----

    def gradient(self) -> torch.Tensor | None:
        """The gradient of the whole parameter that backward left, taken away; None if there is none."""
        if self._whole is None or self._whole.grad is None:
            return None
        gradient: Any = self._whole.grad
        self._whole.grad = None
        if isinstance(gradient, DTensor):
            wanted: Any = self.tensor_parallel
            if gradient.placements != wanted.placements:
                gradient = gradient.redistribute(placements=wanted.placements)
            gradient = gradient._local_tensor
        return gradient

    def pieces(self, gradient: torch.Tensor, into: torch.Tensor) -> None:
        """Write the ranks' pieces of a gradient into the rows of `into`."""
        if self.dim == 0 and self.step * self.parts == self.size[0]:
            into.copy_(gradient.reshape(self.parts, -1))
            return
        for rank in range(self.parts):
            start, length = chunk_bounds(self.size[self.dim], self.parts, rank)
            piece = gradient.narrow(self.dim, start, length)
            flat = (piece.movedim(self.dim, 0) if self.dim else piece).reshape(-1)
            into[rank, : flat.numel()].copy_(flat)
            into[rank, flat.numel() :].zero_()

    def accumulate(self, row: torch.Tensor) -> None:
        """Add this rank's piece of the gradient, as it comes from the others, to the sharded parameter's."""
        sharded = self.sharded
        local = sharded._local_tensor
        length = local.shape[self.dim]
        shape = [length, *self.size[: self.dim], *self.size[self.dim + 1 :]]
        piece = row[: length * self.rest].view(shape)
        if self.dim:
            piece = piece.movedim(0, self.dim)
        piece = piece.to(device=local.device, dtype=local.dtype)
        if sharded.grad is None:
            sharded.grad = DTensor(piece.clone(memory_format=torch.contiguous_format), self.spec, requires_grad=False)
        else:
            sharded.grad._local_tensor.add_(piece)


def managed_parameters(
    modules: Sequence[torch.nn.Module], ignored: set[Any], is_managed: Callable[[torch.nn.Module], bool]
) -> list[tuple[torch.nn.Parameter, list[tuple[torch.nn.Module, str]]]]:
    """The parameters of modules, each with every place where it stands, without those of modules that are managed themselves."""
    found: dict[Any, list[tuple[torch.nn.Module, str]]] = {}
    seen: set[torch.nn.Module] = set()

    def visit(module: torch.nn.Module) -> None:
        if module in seen:
            return
        seen.add(module)
        for name, parameter in module._parameters.items():
            if parameter is not None and parameter not in ignored:
                found.setdefault(parameter, []).append((module, name))
        for child in module.children():
            if not is_managed(child):
                visit(child)

    for module in modules:
        visit(module)
    return list(found.items())
