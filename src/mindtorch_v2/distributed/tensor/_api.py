"""`DTensor`: a tensor whose pieces the ranks of a mesh hold; and what makes them from tensors and modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import NormPartial, Partial, Placement, Replicate, Shard, StridedShard
from mindtorch_v2.autograd import Function
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed import device_mesh as meshes
from mindtorch_v2.distributed._groups import get_global_rank
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.tensor._dispatch import dispatch
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta, meta_of
from mindtorch_v2.distributed.tensor._redistribute import redistribute_local

__all__ = ["DTensor", "distribute_module", "distribute_tensor"]


def _placements(given: Sequence[Placement] | None, mesh: DeviceMesh, rank: int | None = None) -> tuple[Placement, ...]:
    """Placements as they are stored: one for each dimension of the mesh, dimensions counted from the front."""
    if given is None:
        return (Replicate(),) * mesh.ndim
    made = []
    for each in given:
        if not isinstance(each, Placement):
            raise TypeError(
                f"placements are Shard, Replicate or Partial, one for each dimension of the mesh; got {each!r}"
            )
        if isinstance(each, Shard) and rank is not None and not 0 <= each.dim < rank:
            if not -rank <= each.dim < 0:
                raise RuntimeError(f"a tensor of {rank} dimensions cannot lie as {each!r}")
            each = type(each)(**{**each.__dict__, "dim": each.dim + rank})
        made.append(each)
    if len(made) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(made)}, "
            f"and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(made)


def _for_gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """How the gradient of a tensor lies: where the tensor has yet to be combined, its gradient is whole."""
    return tuple(Replicate() if isinstance(each, Partial) else each for each in placements)


class DTensor(torch.Tensor):
    """A tensor of which each rank of a mesh holds a piece, or a copy, or a summand.

    Made by `distribute_tensor`, `DTensor.from_local` and the factories of `torch.distributed.tensor`. Operators take it as a
    whole: its size is that of all pieces together.

    >>> from mindtorch_v2.distributed.tensor import DTensor, Shard
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = DTensor.from_local(torch.tensor([1.0, 2.0]), mesh, [Shard(0)])
    >>> x.shape, x.placements, (x * 2).to_local()
    (torch.Size([2]), (Shard(dim=0),), tensor([2., 4.]))
    >>> dist.destroy_process_group()
    """

    _local_tensor: torch.Tensor
    _spec: DTensorSpec

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, local_tensor: torch.Tensor, spec: DTensorSpec, *, requires_grad: bool) -> Any:
        meta = spec.tensor_meta
        tensors: Any = torch.Tensor
        made: Any = tensors._make_wrapper_subclass(
            cls,
            meta.shape,
            strides=meta.stride,
            dtype=local_tensor.dtype,
            device=local_tensor.device,
            layout=local_tensor.layout,
            requires_grad=requires_grad,
        )
        made._local_tensor = local_tensor.detach() if local_tensor.requires_grad else local_tensor
        made._spec = spec
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        return dispatch(DTensor, func, args, kwargs)

    def __repr__(self) -> str:  # type: ignore[override]  # (a Function has its own arguments)
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    def numpy(self, *, force: bool = False) -> Any:
        """Not there: a rank holds a piece only. `full_tensor().numpy()` gathers them."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def tolist(self) -> Any:
        """Not there: a rank holds a piece only. `full_tensor().tolist()` gathers them."""
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def __tensor_flatten__(self) -> tuple[list[str], tuple]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(parts: dict[str, torch.Tensor], kept: tuple, shape: Any, stride: Any) -> DTensor:
        spec, requires_grad = kept
        meta = TensorMeta(torch.Size(shape), tuple(stride), parts["_local_tensor"].dtype)
        return DTensor(
            parts["_local_tensor"], DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=requires_grad
        )

    @staticmethod
    def from_local(
        local_tensor: torch.Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """A distributed tensor of the pieces that the ranks hold; gradients flow back to them.

        Args:
            local_tensor: this rank's piece.
            device_mesh: the ranks; the current mesh (`with mesh:`) by default.
            placements: what the pieces are, `Replicate` by default.
            run_check: compare the ranks' sizes and dtypes, and copy the first rank's tensor over those that are to be whole;
                ValueError where numbers of dimensions, strides, dtypes, layouts or `requires_grad` differ.
            shape, stride: of the whole, where pieces are not equally long.
            grad_placements: how the gradient lies before this rank's piece of it is taken.
        """
        mesh = device_mesh or meshes._current_mesh()
        how = _placements(placements, mesh, local_tensor.dim())
        if run_check and mesh.get_coordinate() is not None:
            _compare(local_tensor, mesh)
        return _FromLocal.apply(local_tensor, mesh, how, run_check, shape, stride, grad_placements)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> torch.Tensor:
        """This rank's piece; gradients flow back. `grad_placements` is how the gradient lies, as the tensor by default."""
        if not torch.is_grad_enabled():
            return self._local_tensor
        how = None if grad_placements is None else _placements(grad_placements, self._spec.mesh, self.dim())
        return _ToLocal.apply(self, how)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: torch.dtype | None = None,
        backward_dtype: torch.dtype | None = None,
    ) -> DTensor:
        """The same tensor, lying otherwise on its mesh. All ranks call it; gradients flow back.

        Args:
            device_mesh: the tensor's own mesh; RuntimeError for another one.
            placements: one for each dimension of the mesh. `Partial` cannot be asked for.
            async_op: accepted as in PyTorch; it is done when it returns.
            forward_dtype, backward_dtype: dtypes in which the tensor and its gradient are moved.
        """
        mesh = device_mesh or self._spec.mesh
        if mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        how = _placements(placements, mesh, self.dim())
        for have, want in zip(self._spec.placements, how, strict=True):
            if isinstance(want, Partial) and have != want:
                raise RuntimeError(
                    "Can not redistribute to Partial, redistributing to Partial is for internal use only!"
                )
        return _Redistribute.apply(self, how, forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> torch.Tensor:
        """The whole tensor, on every rank. All ranks call it; gradients flow back."""
        whole = self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim)
        return _ToLocal.apply(whole, None if grad_placements is None else tuple(grad_placements))

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh of ranks."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies along each dimension of the mesh."""
        return self._spec.placements

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _rebuild, (self._local_tensor, self._spec, self.requires_grad)


DTensor.__module__ = "mindtorch_v2.distributed.tensor"


def _rebuild(local: torch.Tensor, spec: DTensorSpec, requires_grad: bool) -> DTensor:
    return DTensor(local, spec, requires_grad=requires_grad)


def _compare(local: torch.Tensor, mesh: DeviceMesh) -> None:
    """Look whether the ranks' pieces can be pieces of one tensor."""
    mine = (local.dim(), local.stride(), str(local.dtype), str(local.layout), local.requires_grad)
    for dim in range(mesh.ndim):
        group = mesh.get_group(dim)
        found: list[Any] = [None] * mesh.size(dim)
        objects.all_gather_object(found, mine, group)
        for rank, each in enumerate(found):
            if each != mine:
                raise ValueError(
                    "Inconsistent tensor metadata (number of dimensions, strides, dtype, layout, requires_grad) across ranks: "
                    f"rank {get_global_rank(group, rank)} has {each}, this one {mine}"
                )


class _FromLocal(Function):
    @staticmethod
    def forward(
        ctx: Any, local: Any, mesh: Any, placements: Any, run_check: bool, shape: Any, stride: Any, grad_placements: Any
    ) -> DTensor:
        ctx.placements = _for_gradient(placements if grad_placements is None else grad_placements)
        given = local
        if mesh.get_coordinate() is None:
            local = local.new_empty(0)
        elif run_check:
            local = local.clone()
            for dim, each in enumerate(placements):
                if isinstance(each, Replicate):
                    group = mesh.get_group(dim)
                    collectives.broadcast(local, get_global_rank(group, 0), group)
        if shape is None and stride is None:
            size = list(given.shape)
            for dim, each in enumerate(placements):
                if isinstance(each, Shard):
                    size[each.dim] *= mesh.size(dim)
            shape = size
            stride = _strides_like(given, size)
        elif shape is None or stride is None:
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}. Please pass both shape and stride at the same time."
            )
        spec = DTensorSpec(mesh, placements, TensorMeta(torch.Size(shape), tuple(stride), local.dtype))
        return DTensor(local.view_as(local), spec, requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        moved = redistribute_local(gradient._local_tensor, gradient._spec, ctx.placements)
        return moved, None, None, None, None, None, None


def _strides_like(local: torch.Tensor, size: Sequence[int]) -> tuple[int, ...]:
    """Strides of the whole with dimensions as dense, one beside the other, as the piece has them."""
    order = sorted(range(local.dim()), key=lambda dim: (local.stride(dim), -dim))
    strides, step = [0] * local.dim(), 1
    for dim in order:
        strides[dim] = step
        step *= max(1, size[dim])
    return tuple(strides)


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, placements: Any) -> torch.Tensor:
        ctx.spec, ctx.placements = tensor._spec, placements
        local = tensor._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        how = _for_gradient(ctx.spec.placements) if ctx.placements is None else tuple(ctx.placements)
        meta = ctx.spec.tensor_meta._replace(dtype=gradient.dtype)
        return DTensor(gradient, DTensorSpec(ctx.spec.mesh, how, meta), requires_grad=False), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Any, placements: Any, forward_dtype: Any, backward_dtype: Any) -> DTensor:
        ctx.placements, ctx.dtype, ctx.backward_dtype = tensor._spec.placements, tensor.dtype, backward_dtype
        return _moved(tensor, placements, forward_dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        how = tuple(
            Replicate() if isinstance(want, Partial) and not isinstance(have, Partial) else want
            for have, want in zip(gradient._spec.placements, ctx.placements, strict=True)
        )
        made: Any = _moved(gradient, how, ctx.backward_dtype)
        if made.dtype != ctx.dtype:
            made = made.to(ctx.dtype)
        return made, None, None, None


def _moved(tensor: Any, placements: tuple[Placement, ...], dtype: torch.dtype | None) -> DTensor:
    local, spec = tensor._local_tensor, tensor._spec
    if dtype is not None and dtype != local.dtype:
        local = local.to(dtype)
        spec = DTensorSpec(spec.mesh, spec.placements, spec.tensor_meta._replace(dtype=dtype))
    moved = redistribute_local(local, spec, placements)
    if moved is tensor._local_tensor:
        moved = moved.view_as(moved)
    return DTensor(moved, spec.with_placements(placements), requires_grad=tensor.requires_grad)


def distribute_tensor(
    tensor: torch.Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """A distributed tensor of a whole one, which every rank has; the first rank's values count.

    Args:
        tensor: the whole tensor, a leaf.
        device_mesh: the ranks; the current mesh (`with mesh:`) by default.
        placements: `Shard` or `Replicate` for each dimension of the mesh; `Replicate` by default.
        src_data_rank: whose values count along each dimension of the mesh; None: each rank's own are its pieces, nothing is sent.

    >>> from mindtorch_v2.distributed.tensor import Shard, distribute_tensor
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(torch.tensor([1.0, 2.0]), mesh, [Shard(0)])
    >>> x.placements, x.to_local(), x.full_tensor()
    ((Shard(dim=0),), tensor([1., 2.]), tensor([1., 2.]))
    >>> dist.destroy_process_group()
    """
    mesh = device_mesh or meshes._current_mesh()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    how = _placements(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}."
            )
        if tensor.placements != how:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {how}. do you want to "
                "call `redistribute` instead?"
            )
        return tensor
    for each in how:
        if isinstance(each, Partial) and each.reduce_op not in ("sum", "avg", "max", "min"):
            raise RuntimeError(
                f"Trying to distribute a tensor with unsupported placements on device mesh: {how}; {each} is one of none"
            )
    spec = DTensorSpec(mesh, how, meta_of(tensor))
    if mesh.get_coordinate() is None:
        return DTensor(tensor.detach().new_empty(0), spec, requires_grad=tensor.requires_grad)
    local = tensor.detach()
    if local.device.type not in ("meta", mesh.device_type):
        local = local.to(mesh.device_type)
    if src_data_rank is not None and local.device.type != "meta":
        local = local.clone(memory_format=torch.contiguous_format)
        for dim in range(mesh.ndim):
            group = mesh.get_group(dim)
            collectives.broadcast(local, get_global_rank(group, src_data_rank), group)
    whole = spec.with_placements([Replicate()] * mesh.ndim)
    local = redistribute_local(local, whole, _for_gradient(how))
    for dim, each in enumerate(how):
        if isinstance(each, Partial) and each.reduce_op == "sum":
            local = local / mesh.size(
                dim
            )  # equal summands; averages, largest and smallest are of equal parts as they are
    return DTensor(local, spec, requires_grad=tensor.requires_grad)


def distribute_module(
    module: torch.nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, torch.nn.Module, DeviceMesh], None] | None = None,
    input_fn: Callable[[torch.nn.Module, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[torch.nn.Module, Any, DeviceMesh], Any] | None = None,
) -> torch.nn.Module:
    """Make the parameters and buffers of a module distributed, in place; the module.

    Args:
        module: the module.
        device_mesh: the ranks; the current mesh by default.
        partition_fn: called with each submodule's name, itself and the mesh, replaces its parameters; those that it leaves
            are replicated.
        input_fn, output_fn: called with the module, its inputs (or outputs) and the mesh, before and after its forward.

    >>> from mindtorch_v2.distributed.tensor import distribute_module
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layer = distribute_module(torch.nn.Linear(2, 1), mesh)
    >>> layer.weight.placements
    (Replicate(),)
    >>> dist.destroy_process_group()
    """
    mesh = device_mesh or meshes._current_mesh()
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError(
            "distribute_module should only be called once on a module, but it has already been called on this module!"
        )
    for name, each in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, each, mesh)
        _replicate_rest(each, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda mod, inputs: input_fn(mod, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda mod, inputs, outputs: output_fn(mod, outputs, mesh))
    module._distribute_module_applied = True
    return module


def _replicate_rest(module: torch.nn.Module, mesh: DeviceMesh) -> None:
    whole = [Replicate()] * mesh.ndim
    for name, parameter in module._parameters.items():
        if parameter is not None and not isinstance(parameter, DTensor):
            module.register_parameter(
                name, torch.nn.Parameter(distribute_tensor(parameter.data, mesh, whole), parameter.requires_grad)
            )
    for name, buffer in module._buffers.items():
        if buffer is not None and not isinstance(buffer, DTensor):
            module._buffers[name] = distribute_tensor(buffer, mesh, whole)


def _shard_tensor(
    full_tensor: torch.Tensor, placements: Sequence[Shard], device_mesh: DeviceMesh | None = None
) -> DTensor:
    """A distributed tensor of a whole one that is the same on every rank: each takes its pieces, nothing is sent."""
    return distribute_tensor(full_tensor.detach(), device_mesh, placements, src_data_rank=None)


# What files of distributed tensors name.
SAVED: list[Any] = [
    _rebuild,
    DeviceMesh,
    DTensorSpec,
    TensorMeta,
    NormPartial,
    Partial,
    Replicate,
    Shard,
    StridedShard,
    torch.Size,
]
