"""`torch.distributed.device_mesh`: the ranks as a grid, with a group for each row of each dimension.

```text
mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))     # 8 ranks
dist.all_reduce(gradient, group=mesh.get_group("dp"))                   # over the 2 that hold the same part
mesh["tp"].get_local_rank()
```
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world

if TYPE_CHECKING:
    from mindtorch_v2.distributed._groups import ProcessGroup


__all__ = ["DeviceMesh", "init_device_mesh"]


def _choose_device(device_type: str) -> None:
    """Make this process' own device the current one where the program has not asked for any yet: that of LOCAL_RANK, or by the rank."""
    module = {"npu": torch.npu, "cuda": torch.cuda}.get(device_type)
    if module is None or module.is_initialized() or not module.device_count() or world.get_backend() == "fake":
        return
    if "LOCAL_RANK" in os.environ:
        module.set_device(int(os.environ["LOCAL_RANK"]))
        return
    count, size = module.device_count(), world.get_world_size()
    if size > count and size % count:
        raise RuntimeError(
            f"DeviceMesh only support homogeneous hardware, but found {size} ranks and {count} {device_type} devices!"
        )
    warnings.warn(
        "no device was chosen before the DeviceMesh is made, and there is no LOCAL_RANK: it takes the rank modulo the number of devices",
        stacklevel=3,
    )
    module.set_device(world.get_rank() % count)


class DeviceMesh:
    """A grid of ranks. All processes of the job make it, in the same order among their groups.

    Args:
        device_type: "cpu" or "npu".
        mesh: the ranks, as nested lists or a tensor of ints.
        mesh_dim_names: a name for each dimension, or None.

    ValueError if ranks are missing, too many, or named twice.

    >>> from mindtorch_v2.distributed.device_mesh import DeviceMesh
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
    >>> mesh.shape, mesh["model"].size(), mesh.get_local_rank("data")
    ((1, 1), 1, 0)
    >>> dist.destroy_process_group()
    """

    _root: DeviceMesh | None = None  # the mesh that this one is a part of
    _dims: tuple[int, ...] = ()  # and which of its dimensions it has
    _flattened: DeviceMesh | None = None

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: Sequence[str] | None = None) -> None:
        self.device_type = device_type
        self.mesh = torch.as_tensor(mesh).detach().to("cpu", torch.int32)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.mesh.dim():
            raise ValueError(
                f"the mesh has {self.mesh.dim()} dimensions, but mesh_dim_names has {len(self.mesh_dim_names)} names"
            )
        if not world.is_initialized():
            world.init_process_group()
        ranks = self.mesh.flatten().tolist()
        if len(set(ranks)) != len(ranks) or not all(0 <= rank < world.get_world_size() for rank in ranks):
            raise ValueError(f"a mesh holds each rank below the world size at most once, got {ranks}")
        _choose_device(device_type)
        self._rank = world.get_rank()
        self._groups = [self._make_groups(dim) for dim in range(self.mesh.dim())]
        self._flat: dict[str, DeviceMesh] = {}  # meshes of several dimensions in one, by name

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """A mesh of groups that exist already.

        Args:
            group: a group, for a mesh of one dimension; or a list of them, one for each dimension of `mesh`.
            device_type: "cpu" or "npu".
            mesh: the ranks, where there are several groups; those of the group by default.
            mesh_dim_names: a name for each dimension, or None.
        """
        groups = list(group) if isinstance(group, list | tuple) else [group]
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be specified")
        if mesh is None:
            if len(groups) > 1:
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = world.get_process_group_ranks(groups[0])
        ranks = torch.as_tensor(mesh).detach().to("cpu", torch.int32)
        if ranks.dim() != len(groups):
            raise ValueError(
                f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {ranks.tolist()} and {len(groups)} ProcessGroups"
            )
        return _mesh_of(device_type, ranks, None if mesh_dim_names is None else tuple(mesh_dim_names), groups)

    def _make_groups(self, dim):
        """The group of this rank's row along a dimension. The rows of the other ranks need their groups as well."""
        if self.mesh.dim() == 1 and self.mesh.tolist() == list(range(world.get_world_size())):
            return world._get_default_group()
        own = None
        for row in self.mesh.movedim(dim, -1).reshape(-1, self.mesh.size(dim)).tolist():
            made = world.new_group(row)
            if self._rank in row:
                own = made
        return own

    @property
    def shape(self) -> tuple:
        """The sizes of the dimensions."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return self.mesh.dim()

    def size(self, mesh_dim: int | None = None) -> int:
        """How many ranks there are, in all or along a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[self._dim(mesh_dim)]

    def _dim(self, mesh_dim):
        if isinstance(mesh_dim, str):
            names = self.mesh_dim_names or ()
            if mesh_dim not in names:
                raise KeyError(
                    f"Invalid mesh_dim_names {(mesh_dim,)} specified. Valid mesh_dim_names are {list(self.mesh_dim_names or ())}."
                )
            return names.index(mesh_dim)
        return mesh_dim

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this rank's row along a dimension; it has to be named if there are several."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` needs to be specified when "
                "device_mesh.ndim > 1."
            )
        return self._group(self._dim(mesh_dim or 0))

    def _group(self, dim: int) -> Any:
        found = self._groups[dim]
        if isinstance(found, str):  # of a mesh that came from a file or another process
            found = self._groups[dim] = world.resolve_name(found)
        return found

    def get_all_groups(self) -> list:
        """The groups of this rank, one for each dimension."""
        return [self._group(dim) for dim in range(self.ndim)]

    def __getstate__(self) -> dict[str, Any]:
        """All but the connections: groups by their names, which they have in every process of a job."""
        kept = {name: value for name, value in self.__dict__.items() if name not in ("_flat", "_flattened")}
        return {**kept, "_groups": [getattr(each, "group_name", each) for each in self._groups]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._flat = {}
        if world.is_initialized():
            self._rank = world.get_rank()

    def get_rank(self) -> int:
        """This process' rank in the job."""
        return self._rank

    def get_local_rank(self, mesh_dim: str | None = None) -> int:
        """This process' place in its row along a dimension."""
        return world.get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> list[int] | None:
        """This process' place in the grid, a list; None if it is not there."""
        places = (self.mesh == self._rank).nonzero().tolist()
        return places[0] if places else None

    def __getitem__(self, mesh_dim_names: str) -> DeviceMesh:
        """The mesh of this rank's row along the named dimension, or along several."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        root = self._root or self
        if len(names) == 1 and names[0] in root._flat and names[0] not in (self.mesh_dim_names or ()):
            return root._flat[names[0]]
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        return self if names == self.mesh_dim_names else self._part([self._dim(name) for name in names])

    def _part(self, dims: Sequence[int]) -> DeviceMesh:
        """The mesh of this rank's rows along some dimensions, in their order."""
        place: Any = self.get_coordinate() or [0] * self.ndim
        rows = self.mesh
        for dim in reversed(range(self.ndim)):
            if dim not in dims:
                rows = rows.select(dim, place[dim])
        order = sorted(dims)
        names = None if self.mesh_dim_names is None else tuple(self.mesh_dim_names[dim] for dim in dims)
        groups = [self._group(dim) for dim in dims]
        made = _mesh_of(self.device_type, rows.permute([order.index(dim) for dim in dims]), names, groups)
        made._root = self._root or self
        made._dims = tuple((self._dims[dim] if self._root else dim) for dim in dims)
        return made

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The mesh of one dimension that has this one's ranks, in their order. All ranks of the job call it."""
        if self.ndim == 1:
            return self
        if self._flattened is not None:
            return self._flattened
        root = self._root or self
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        dims = self._dims if self._root else range(self.ndim)
        rest = [dim for dim in range(root.ndim) if dim not in dims]
        rows = root.mesh.permute([*rest, *dims]).reshape(-1, self.size()).tolist()
        for row in rows:
            group = world.new_group(row)
            if self._rank in row:
                self._flattened = _mesh_of(self.device_type, torch.tensor(row, dtype=torch.int32), (name,), [group])
        made: Any = self._flattened
        made._root = root
        root._flat[name] = made
        return made

    def _get_root_mesh(self) -> DeviceMesh:
        """The mesh that this one is a part of; itself if it is of none."""
        return self._root or self

    def __enter__(self) -> DeviceMesh:
        _entered.append(self)
        return self

    def __exit__(self, *exception: Any) -> None:
        _entered.pop()

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and (self.device_type, self.mesh_dim_names) == (other.device_type, other.mesh_dim_names)
            and self.mesh.tolist() == other.mesh.tolist()
        )

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # its groups are connections to other processes, of which there is no other

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, tuple(self.mesh.flatten().tolist()), self.shape))

    def __repr__(self) -> str:
        names = self.mesh_dim_names
        sizes = f"({', '.join(f'{k}={v}' for k, v in zip(names, self.shape, strict=True))})" if names else self.shape
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={self.mesh.stride()})"


_entered: list[DeviceMesh] = []  # meshes whose `with` blocks are open, innermost last


def _current_mesh() -> DeviceMesh:
    """The mesh of the innermost `with mesh:`; RuntimeError if there is none."""
    if not _entered:
        raise RuntimeError("No device mesh is currently active!")
    return _entered[-1]


def _mesh_of(device_type: str, ranks: torch.Tensor, names: tuple[str, ...] | None, groups: list[Any]) -> DeviceMesh:
    """A mesh whose groups exist."""
    made = object.__new__(DeviceMesh)
    made.device_type, made.mesh, made.mesh_dim_names = device_type, ranks, names
    made._rank, made._groups, made._flat = world.get_rank(), groups, {}
    return made


def init_device_mesh(
    device_type: str, mesh_shape: Sequence[int], *, mesh_dim_names: Sequence[str] | None = None
) -> DeviceMesh:
    """A `DeviceMesh` of all ranks in their order; the default group is made (by "env://") if it is not there.

    Args:
        device_type: "cpu" or "npu".
        mesh_shape: the sizes of the dimensions; their product is the world size.
        mesh_dim_names: a name for each dimension, or None.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    >>> mesh.mesh, mesh.mesh_dim_names
    (tensor([[0]], dtype=torch.int32), ('data', 'model'))
    >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.",
            )
    if not world.is_initialized():
        world.init_process_group()
    if ":" in device_type:
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a 'torch.device' object, "
            "it's recommended to pass in 'device.type'."
        )
    if math.prod(mesh_shape) > world.get_world_size():
        raise RuntimeError(
            f"Mesh should not be bigger than default world size {world.get_world_size()}, "
            f"but found {math.prod(mesh_shape)} ranks!"
        )
    ranks = torch.arange(math.prod(mesh_shape), dtype=torch.int32).view(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
