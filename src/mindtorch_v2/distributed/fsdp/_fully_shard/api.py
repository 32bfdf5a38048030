"""`fully_shard`: parameters, gradients and optimizer states in pieces on all ranks; each layer whole only while it computes."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Shard
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed.device_mesh import DeviceMesh, init_device_mesh
from mindtorch_v2.distributed.fsdp._fully_shard.group import ParameterGroup
from mindtorch_v2.distributed.fsdp._fully_shard.parameter import ShardedParameter, managed_parameters
from mindtorch_v2.distributed.fsdp._fully_shard.policies import MixedPrecisionPolicy, OffloadPolicy
from mindtorch_v2.distributed.fsdp._fully_shard.state import ModuleState, state_of

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method", "share_comm_ctx"]

Module = torch.nn.Module
_classes: dict[type, type] = {}


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[torch.nn.Parameter], Shard | None] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[torch.nn.Parameter] | None = None,
) -> Any:
    """Let each rank of a mesh hold a piece of the parameters of a module, in place; the module, or the list of modules.

    The parameters become `DTensor`. They are gathered before the module's forward and backward, and released after it; their
    gradients are averaged over the ranks, in pieces. Apply it to layers first, then to the whole.

    Args:
        module: a module, or a list of those that are gathered together.
        mesh: the ranks: of one dimension, or of two for copies of pieces ("replicate", "shard"); all ranks by default.
            Parameters and buffers are moved to its device.
        reshard_after_forward: whether parameters are released between forward and backward. None: for all but the root. A number
            of ranks: such groups of consecutive ranks keep them whole together, and backward gathers among these only.
        shard_placement_fn: the dimension along which a parameter is cut, as `Shard`; None or no answer is the first.
        mp_policy: dtypes of the computation and of the sums.
        offload_policy: where the pieces are kept.
        ignored_params: parameters that stay as they are.

    ValueError for a mesh of more dimensions, a module without a forward of its own (`ModuleList`) or a `reshard_after_forward`
    that does not divide the number of ranks; AssertionError for a module that is sharded already.

    >>> from mindtorch_v2.distributed.fsdp import fully_shard
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> layer = fully_shard(torch.nn.Linear(2, 1, bias=False), mesh=dist.init_device_mesh("cpu", (1,)))
    >>> layer.weight.placements, layer.weight.to_local().shape
    ((Shard(dim=0),), torch.Size([1, 2]))
    >>> layer(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    >>> dist.destroy_process_group()
    """
    modules: list[Module] = list(module) if isinstance(module, list | tuple) else [module]
    for each in modules:
        if isinstance(each, torch.nn.ModuleList | torch.nn.ModuleDict):
            raise ValueError(f"fully_shard does not support containers that do not implement forward: {each}")
        if state_of(each) is not None:
            raise AssertionError(
                "Each distinct composable distributed API can only be applied to a module once. fully_shard has already been "
                f"applied to the following module:\n{each}"
            )
    mesh = mesh or _all_ranks()
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    mixed, offload = mp_policy or MixedPrecisionPolicy(), offload_policy or OffloadPolicy()
    ignored = set(ignored_params or ())
    found = managed_parameters(modules, ignored, lambda each: state_of(each) is not None)
    _bring_buffers(modules, mesh.device_type)
    parameters = [
        ShardedParameter(owners, each, mesh, shard_placement_fn(each) if shard_placement_fn else None, mixed, offload)
        for each, owners in found
    ]
    state = ModuleState(modules, ParameterGroup(parameters, mesh, mixed), mixed)
    state.reshard_after_forward, state.group.near = _whether_to_release(reshard_after_forward, mesh)
    for each in modules:
        each._fsdp_state = state
        each.__class__ = _class_of(type(each))
    return module


def _bring_buffers(modules: list[Module], device_type: str) -> None:
    """Move the buffers of modules to the device of the mesh, as their parameters are; those without memory stay."""
    for module in modules:
        for each in module.modules():
            for name, buffer in each._buffers.items():
                if buffer is not None and not buffer.is_meta and buffer.device.type != device_type:
                    each._buffers[name] = buffer.to(device_type)


def _all_ranks() -> DeviceMesh:
    """All ranks, on the accelerator if there is one by which they communicate."""
    if not world.is_initialized():
        world.init_process_group()
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    reached = {device.type for device in world.resolve(None)._device_types}
    kind = accelerator.type if accelerator is not None and accelerator.type in reached else "cpu"
    return init_device_mesh(kind, (world.get_world_size(),))


def _whether_to_release(given: Any, mesh: DeviceMesh) -> tuple[bool | None, Any]:
    """Whether forward releases parameters, and the group of ranks that keep them together meanwhile, if not all do."""
    if given is None or isinstance(given, bool):
        return given, None
    size = mesh.size(mesh.ndim - 1)
    if not isinstance(given, int):
        raise ValueError(
            f"reshard_after_forward should be a bool or an int representing the group size to reshard to, not {given}"
        )
    if given < 1 or size % given:
        raise ValueError(f"If passing reshard_after_forward as an int, it should be a factor of {size}, not {given}")
    return given > 1, _near(mesh, given) if 1 < given < size else None


_near_groups: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = (
    weakref.WeakKeyDictionary()
)  # group of pieces -> groups in it


def _near(mesh: DeviceMesh, count: int) -> Any:
    """The group of this rank and its neighbours along the dimension of pieces. All ranks of the job make theirs at the same time."""
    known = _near_groups.setdefault(mesh.get_group(mesh.ndim - 1), {})
    if count not in known:
        for ranks in mesh.mesh.reshape(-1, count).tolist():
            made = world.new_group(ranks)
            if mesh.get_rank() in ranks:
                known[count] = made
    return known[count]


def _class_of(kind: type) -> type:
    """The class of a module that is sharded: `FSDPLinear`, which is an `FSDPModule` and a `Linear`."""
    made = _classes.get(kind)
    if made is None:
        made = _classes[kind] = type(f"FSDP{kind.__name__}", (FSDPModule, kind), {"__module__": kind.__module__})
    return made


class UnshardHandle:
    """Parameters that are being gathered.

    >>> from mindtorch_v2.distributed.fsdp import fully_shard
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> layer = fully_shard(torch.nn.Linear(2, 1, bias=False), mesh=dist.init_device_mesh("cpu", (1,)))
    >>> handle = layer.unshard(async_op=True)
    >>> handle.wait()
    >>> layer.weight.shape
    torch.Size([1, 2])
    >>> dist.destroy_process_group()
    """

    def __init__(self, state: ModuleState) -> None:
        self._state = state

    def wait(self) -> None:
        """Wait until they are whole."""
        self._state.group.gather()


class FSDPModule:
    """Methods of modules after `fully_shard`; their class derives from it.

    >>> from mindtorch_v2.distributed.fsdp import FSDPModule, fully_shard
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> layer = fully_shard(torch.nn.Linear(2, 1, bias=False), mesh=dist.init_device_mesh("cpu", (1,)))
    >>> isinstance(layer, FSDPModule), type(layer).__name__
    (True, 'FSDPLinear')
    >>> layer.unshard()
    >>> layer.weight.shape
    torch.Size([1, 2])
    >>> dist.destroy_process_group()
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """An instance of the class as it was before it was sharded."""
        original: Any = cls.__mro__[2]
        made = original.__new__(original)
        made.__init__(*args, **kwargs)
        return made

    def _get_fsdp_state(self) -> ModuleState:
        state = state_of(self)  # type: ignore[arg-type]  # (it is mixed into modules)
        if state is None:
            raise RuntimeError(f"No FSDP state found on {self}")
        return state

    def _states(self, recurse: bool) -> list[ModuleState]:
        if not recurse:
            return [self._get_fsdp_state()]
        return [found for each in self.modules() if (found := state_of(each)) is not None]  # type: ignore[attr-defined]  # (instances of the class asked for)

    def reshard(self) -> None:
        """Release the parameters: each rank keeps its pieces."""
        self._get_fsdp_state().group.release()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Make the parameters whole. All ranks call it. With `async_op` it begins to, and returns a handle to wait for."""
        state = self._get_fsdp_state()
        state.group.start_gather()
        if async_op:
            return UnshardHandle(state)
        state.group.gather()
        return None

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted as in PyTorch: sums are finished at the end of each backward pass here."""
        for state in self._states(True):
            if state.shared is not None:
                state.shared.last_backward = is_last_backward

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Whether backward sums gradients over the ranks. Without, whole gradients are kept and summed by a later pass."""
        for state in self._states(recurse):
            state.group.requires_sync = requires_gradient_sync
            state.group.requires_all_reduce = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether backward sums gradients over copies of pieces too, where the mesh has two dimensions."""
        for state in self._states(recurse):
            state.group.requires_all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether forward releases the parameters when it ends."""
        if not isinstance(reshard_after_forward, bool):
            raise ValueError(f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}")
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Whether backward releases the parameters when it ends."""
        for state in self._states(recurse):
            state.group.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Modules whose parameters begin to be gathered when this one's forward begins."""
        self._get_fsdp_state().forward_prefetch = [_state_among(each) for each in modules]

    def set_modules_to_backward_prefetch(self, modules: Sequence[FSDPModule]) -> None:
        """Modules whose parameters begin to be gathered when this one's backward begins; by default the one before it."""
        self._get_fsdp_state().backward_prefetch = [_state_among(each) for each in modules]

    def set_all_reduce_hook(self, hook: Callable[[torch.Tensor], None], *, stream: Any = None) -> None:
        """Called with the sums of pieces of gradients, before they are divided."""
        self._get_fsdp_state().group.all_reduce_hook = hook

    def set_post_optim_event(self, event: Any) -> None:
        """Accepted as in PyTorch: gathering does not run beside the optimizer here."""

    def set_reduce_scatter_divide_factor(self, factor: float) -> None:
        """By what sums of gradients are divided, instead of the number of ranks."""
        self._get_fsdp_state().group.divide_factor = factor

    set_gradient_divide_factor = set_reduce_scatter_divide_factor

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Accepted as in PyTorch: ranks always sum, and divide afterwards."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Whether backward gathers the parameters, which it needs not where it does not read them (embeddings)."""
        self._get_fsdp_state().gather_in_backward = unshard_in_backward

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Accepted as in PyTorch: process groups have no memory of their own here."""

    def _set_unshard_async_op(self, async_op: bool) -> None:
        """Accepted as in PyTorch: gathering is asynchronous anyway."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("FSDP does not support deepcopy. Please use state dict for serialization.")

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        self.reshard()
        return super()._apply(*args, **kwargs)  # type: ignore[misc]  # (it is mixed into modules)


def _state_among(module: Any) -> ModuleState:
    if not isinstance(module, FSDPModule):
        raise ValueError(f"Expects FSDPModule but got {type(module)}: {module}")
    return module._get_fsdp_state()


def register_fsdp_forward_method(module: Module, method_name: str) -> None:
    """Let a method of a sharded module gather and release as its forward does. Nothing happens to other modules.

    >>> from mindtorch_v2.distributed.fsdp import fully_shard, register_fsdp_forward_method
    >>> class Model(torch.nn.Linear):
    ...     def twice(self, x):
    ...         return 2 * self(x)
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = fully_shard(Model(2, 1), mesh=dist.init_device_mesh("cpu", (1,)))
    >>> register_fsdp_forward_method(model, "twice")
    >>> model.twice(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    >>> dist.destroy_process_group()
    """
    state = state_of(module)
    if state is None:
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        owner = state_of(self)
        assert owner is not None
        args, kwargs = owner.before(args, kwargs)
        return owner.after(method(*args, **kwargs))

    setattr(module, method_name, types.MethodType(wrapped, module))


def share_comm_ctx(modules: list[FSDPModule]) -> None:
    """Accepted as in PyTorch, where streams are shared: each group of ranks has one thread that communicates here.

    >>> from mindtorch_v2.distributed.fsdp import fully_shard, share_comm_ctx
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layers = [fully_shard(torch.nn.Linear(2, 2), mesh=mesh) for _ in range(2)]
    >>> share_comm_ctx(layers)
    >>> layers[1](layers[0](torch.ones(1, 2))).shape
    torch.Size([1, 2])
    >>> dist.destroy_process_group()
    """
    for each in modules:
        _state_among(each)
