"""`FullyShardedDataParallel`: `fully_shard` by the names of the wrapper that came before it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from mindtorch_v2.distributed.device_mesh import DeviceMesh
from mindtorch_v2.distributed.fsdp import api
from mindtorch_v2.distributed.fsdp._fully_shard.api import fully_shard
from mindtorch_v2.distributed.fsdp._fully_shard.policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy
from mindtorch_v2.distributed.fsdp._fully_shard.state import state_of
from mindtorch_v2.distributed.fsdp.api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    LocalOptimStateDictConfig,
    LocalStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from mindtorch_v2.distributed.fsdp.wrap import wrap_submodules
from mindtorch_v2.distributed.tensor._api import DTensor
from mindtorch_v2.distributed.tensor._pieces import lying_like, wants_pieces
from mindtorch_v2.types import Device

__all__ = [*api.__all__, "FullyShardedDataParallel"]

Module = torch.nn.Module
_CONFIGS: dict[StateDictType, tuple[type[StateDictConfig], type[OptimStateDictConfig]]] = {
    StateDictType.FULL_STATE_DICT: (FullStateDictConfig, FullOptimStateDictConfig),
    StateDictType.LOCAL_STATE_DICT: (LocalStateDictConfig, LocalOptimStateDictConfig),
    StateDictType.SHARDED_STATE_DICT: (ShardedStateDictConfig, ShardedOptimStateDictConfig),
}
_WRAPPED = "_fsdp_wrapped_module"
_CHECKPOINTED = "_checkpoint_wrapped_module"


class FullyShardedDataParallel(Module):
    """A module whose parameters, gradients and optimizer states are in pieces on all ranks.

    It is `fully_shard` of the module, and of those submodules that a policy names; parameters are `DTensor` under their own
    names (as with `use_orig_params`), never one flat tensor.

    Args:
        module: the module.
        process_group: the ranks, a group (or a pair: ranks of pieces, ranks of copies); all by default.
        sharding_strategy: what is in pieces; `FULL_SHARD` by default.
        cpu_offload: whether pieces are kept by the host.
        auto_wrap_policy: which submodules are gathered by themselves, from `torch.distributed.fsdp.wrap`.
        mixed_precision: dtypes.
        ignored_modules, ignored_states: modules and parameters that stay as they are.
        param_init_fn: called with modules on the device "meta", to make their parameters.
        device_id: where the module is moved first.
        sync_module_states: whether the first rank's parameters and buffers are copied to the others.
        device_mesh: the ranks as a mesh, instead of a group.
        backward_prefetch, forward_prefetch, limit_all_gathers, use_orig_params: accepted as in PyTorch.

    >>> from mindtorch_v2.distributed.fsdp import FullyShardedDataParallel
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = FullyShardedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).shape
    torch.Size([3, 1])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: ShardingStrategy | None = None,
        cpu_offload: CPUOffload | None = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: BackwardPrefetch | None = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: MixedPrecision | None = None,
        ignored_modules: Iterable[Module] | None = None,
        param_init_fn: Any = None,
        device_id: Device | None = None,
        sync_module_states: bool = False,
        forward_prefetch: bool = False,
        limit_all_gathers: bool = True,
        use_orig_params: bool = False,
        ignored_states: Iterable[Any] | None = None,
        device_mesh: DeviceMesh | None = None,
    ) -> None:
        super().__init__()
        ignored = {*(ignored_modules or ()), *(each for each in ignored_states or () if isinstance(each, Module))}
        parameters = {each for each in ignored_states or () if isinstance(each, torch.Tensor)}
        parameters |= {each for mod in ignored for each in mod.parameters()}
        if device_id is not None and torch.device(device_id).type != "meta":
            module.to(torch.device(device_id))
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        mesh = device_mesh or _mesh(process_group, strategy, module)
        for each in module.modules():
            if any(own.device.type == "meta" for own in each.parameters(recurse=False)):
                _materialise(each, param_init_fn)
        if sync_module_states:
            _copy_first(module, process_group)
        if auto_wrap_policy is not None:
            options = {
                "sharding_strategy": strategy,
                "cpu_offload": cpu_offload,
                "mixed_precision": mixed_precision,
                "device_mesh": mesh,
                "ignored_states": parameters,
            }
            wrap_submodules(
                module,
                auto_wrap_policy,
                lambda child, **more: FullyShardedDataParallel(child, **{**options, **more}),
                ignored,
                parameters,
            )
        self.sharding_strategy, self.mixed_precision = strategy, mixed_precision or MixedPrecision()
        if self.mixed_precision.buffer_dtype is not None:
            for buffer in module.buffers():
                if buffer.is_floating_point():
                    buffer.data = buffer.data.to(self.mixed_precision.buffer_dtype)
        self._settings = _settings(StateDictType.FULL_STATE_DICT, None, None)
        setattr(self, _WRAPPED, module)
        offload = CPUOffloadPolicy() if cpu_offload is not None and cpu_offload.offload_params else OffloadPolicy()
        given = self.mixed_precision
        fully_shard(
            module,
            mesh=mesh,
            reshard_after_forward=strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD),
            mp_policy=MixedPrecisionPolicy(given.param_dtype, given.reduce_dtype, None, True),
            offload_policy=offload,
            ignored_params={each for each in parameters if isinstance(each, torch.nn.Parameter)},
        )
        self._register_state_dict_hook(_hand_out)
        self.register_load_state_dict_pre_hook(_take_in)

    @property
    def module(self) -> Module:
        """The wrapped module."""
        return self._modules[_WRAPPED]

    def _state(self) -> Any:
        """State that `fully_shard` keeps of the module, which may be in a wrapper of `apply_activation_checkpointing` by now."""
        module: Any = self.module
        while (state := state_of(module)) is None and _CHECKPOINTED in module._modules:
            module = module._modules[_CHECKPOINTED]
        return state

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self._modules[_WRAPPED], name)

    def __getitem__(self, key: int) -> Any:
        return self.module[key]  # type: ignore[index]  # (nested dictionaries and lists)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The wrapped module's."""
        return self.module(*args, **kwargs)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """The parameters, by their names without wrappers where these are whole (`summon_full_params`)."""
        for name, parameter in super().named_parameters(*args, **kwargs):
            yield (name.replace(f"{_WRAPPED}.", "") if self._summoned() else name), parameter

    def _summoned(self) -> bool:
        return bool(self.__dict__.get("_is_summoned"))

    @staticmethod
    def fsdp_modules(module: Module, root_only: bool = False) -> list[FullyShardedDataParallel]:
        """The wrappers in a module, itself included; those that are in no other with `root_only`."""
        found = [each for each in module.modules() if isinstance(each, FullyShardedDataParallel)]
        if root_only:
            inner = {sub for each in found for sub in each.modules() if sub is not each}
            found = [each for each in found if each not in inner]
        return found

    def check_is_root(self) -> bool:
        """Whether the last forward ran here first."""
        state = self._state()
        return state is not None and (state.is_root or state.shared is None)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Within this block backward does not sum gradients over the ranks; they are summed by the first pass after it."""
        states = [state for each in self.modules() if (state := state_of(each)) is not None]
        for state in states:
            state.group.requires_sync = False
        try:
            yield
        finally:
            for state in states:
                state.group.requires_sync = True

    def clip_grad_norm_(self, max_norm: float, norm_type: float = 2.0) -> torch.Tensor:
        """Scale all gradients so that their norm is at most `max_norm`; the norm before, whole. All ranks call it."""
        total: Any = torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm, norm_type)
        return total.full_tensor() if isinstance(total, DTensor) else total

    # ---- whole parameters ----

    @staticmethod
    @contextlib.contextmanager
    def summon_full_params(
        module: Module,
        recurse: bool = True,
        writeback: bool = True,
        rank0_only: bool = False,
        offload_to_cpu: bool = False,
        with_grads: bool = False,
    ) -> Iterator[None]:
        """Within this block the parameters are whole; what is written to them lasts with `writeback`. All ranks call it."""
        if writeback and rank0_only:
            raise NotImplementedError(
                "writeback=True and rank0_only=True is not supported, as model parameter shards will be different across ranks."
            )
        if with_grads:
            raise NotImplementedError(
                "summon_full_params does not gather gradients: parameters' .grad is a DTensor, with full_tensor()"
            )
        wrappers = FullyShardedDataParallel.fsdp_modules(module)
        wrappers = wrappers if recurse else [each for each in wrappers if each is module]
        states = [state for each in wrappers if (state := each._state()) is not None]
        for state in states:
            state.group.gather()
        for each in wrappers:
            each.__dict__["_is_summoned"] = True
        try:
            yield
        finally:
            for each in wrappers:
                each.__dict__["_is_summoned"] = False
            for state in states:
                if writeback:
                    state.group.write_back()
                state.group.release()

    # ---- states ----

    @staticmethod
    def set_state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> StateDictSettings:
        """Say what `state_dict` of all wrappers in a module gives; what it gave before."""
        made = _settings(state_dict_type, state_dict_config, optim_state_dict_config)
        before = FullyShardedDataParallel.get_state_dict_type(module)
        for each in FullyShardedDataParallel.fsdp_modules(module):
            each._settings = made
        return before

    @staticmethod
    def get_state_dict_type(module: Module) -> StateDictSettings:
        """Settings of `state_dict` of the wrappers in a module."""
        found = FullyShardedDataParallel.fsdp_modules(module)
        return found[0]._settings if found else _settings(StateDictType.FULL_STATE_DICT, None, None)

    @staticmethod
    @contextlib.contextmanager
    def state_dict_type(
        module: Module,
        state_dict_type: StateDictType,
        state_dict_config: StateDictConfig | None = None,
        optim_state_dict_config: OptimStateDictConfig | None = None,
    ) -> Iterator[None]:
        """Within this block `state_dict` of all wrappers in a module gives that."""
        before = FullyShardedDataParallel.set_state_dict_type(
            module, state_dict_type, state_dict_config, optim_state_dict_config
        )
        try:
            yield
        finally:
            FullyShardedDataParallel.set_state_dict_type(
                module, before.state_dict_type, before.state_dict_config, before.optim_state_dict_config
            )

    @staticmethod
    def optim_state_dict(
        model: Module, optim: torch.optim.Optimizer, optim_state_dict: dict[str, Any] | None = None, group: Any = None
    ) -> dict[str, Any]:
        """The optimizer's state by the parameters' names, whole or in pieces as `state_dict_type` says. All ranks call it."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        made = get_optimizer_state_dict(model, optim, options=StateDictOptions(full_state_dict=full))
        first_only = full and getattr(settings.optim_state_dict_config, "rank0_only", False)
        return {} if first_only and world.get_rank() != 0 else made

    @staticmethod
    def optim_state_dict_to_load(
        model: Module,
        optim: torch.optim.Optimizer,
        optim_state_dict: dict[str, Any],
        is_named_optimizer: bool = False,
        load_directly: bool = False,
        group: Any = None,
    ) -> dict[str, Any]:
        """The state for `optim.load_state_dict`, of one that `optim_state_dict` gave. All ranks call it."""
        settings = FullyShardedDataParallel.get_state_dict_type(model)
        full = settings.state_dict_type is StateDictType.FULL_STATE_DICT
        spread = full and getattr(settings.optim_state_dict_config, "rank0_only", False)
        options = StateDictOptions(full_state_dict=full, broadcast_from_rank0=spread)
        set_optimizer_state_dict(model, optim, optim_state_dict, options=options)
        return optim.state_dict()


def _settings(
    kind: StateDictType, config: StateDictConfig | None, optim: OptimStateDictConfig | None
) -> StateDictSettings:
    default, default_optim = _CONFIGS[kind]
    config, optim = config or default(), optim or default_optim()
    if not isinstance(config, default):
        raise RuntimeError(f"Expected state_dict_config of type {default} but got {type(config)}")
    return StateDictSettings(kind, config, optim)


def _mesh(group: Any, strategy: ShardingStrategy, module: Module) -> DeviceMesh:
    """The ranks: of one dimension; of two (copies, pieces) where pieces are on one machine or nothing is in pieces."""
    kinds = {each.device.type for each in module.parameters()} - {"meta"}
    device = kinds.pop() if len(kinds) == 1 else "cpu"
    if strategy in (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2):
        if not isinstance(group, tuple):
            raise ValueError(
                "Manual wrapping with ShardingStrategy.HYBRID_SHARD requires explicit specification of process group or device_mesh."
            )
        pieces, copies = group
        ranks = [[rank + shift for rank in world.get_process_group_ranks(pieces)] for shift in _shifts(copies)]
        return DeviceMesh.from_group([copies, pieces], device, ranks)
    group = world.resolve(group)
    if strategy is ShardingStrategy.NO_SHARD:
        ranks = [[each] for each in world.get_process_group_ranks(group)]
        return DeviceMesh.from_group([group, _alone()], device, ranks)
    return DeviceMesh.from_group(group, device)


def _shifts(copies: Any) -> list[int]:
    ranks = world.get_process_group_ranks(copies)
    return [rank - world.get_rank() for rank in ranks]


def _alone() -> Any:
    """A group of this rank only; all ranks call it."""
    made = [world.new_group([rank]) for rank in range(world.get_world_size())]
    return made[world.get_rank()]


def _materialise(module: Module, init: Any) -> None:
    if init is not None:
        init(module)
        return
    module.to_empty(device="cpu", recurse=False)
    if not hasattr(module, "reset_parameters"):
        raise RuntimeError(
            f"{type(module).__name__} has parameters on the device meta and no reset_parameters(): give param_init_fn"
        )
    module.reset_parameters()


def _copy_first(module: Module, group: Any) -> None:
    group = None if isinstance(group, tuple) else group
    root = world.get_global_rank(world.resolve(group), 0)
    with torch.no_grad():
        for each in (*module.parameters(), *module.buffers()):
            if not isinstance(each, DTensor):
                collectives.broadcast(each.detach(), root, group)


def _hand_out(module: Any, state: dict[str, Any], prefix: str, local_metadata: Any) -> dict[str, Any]:
    """A state dictionary with names without wrappers, and values as the settings say."""
    settings = _settings(StateDictType.SHARDED_STATE_DICT, None, None) if wants_pieces() else module._settings
    config = settings.state_dict_config
    first_only = getattr(config, "rank0_only", False) and world.get_rank() != 0
    inner = f"{prefix}{_WRAPPED}."
    for name in list(state):
        if not name.startswith(inner):
            continue
        value: Any = state.pop(name)
        if isinstance(value, DTensor):
            pieces: Any = value.detach()
            if settings.state_dict_type is StateDictType.FULL_STATE_DICT:
                value = pieces.full_tensor()
            elif settings.state_dict_type is StateDictType.LOCAL_STATE_DICT:
                value = pieces.to_local()
        if isinstance(value, torch.Tensor) and not isinstance(value, DTensor) and config.offload_to_cpu:
            value = value.cpu()
        if not first_only:
            state[prefix + name[len(inner) :]] = value
    return state


def _take_in(module: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Put wrappers' names into a state dictionary, and whole or local values into pieces."""
    module._state().group.release()
    inner = f"{prefix}{_WRAPPED}."
    present = {
        name: each
        for path, sub in module.module.named_modules()
        for name, each in ((f"{path}.{own}" if path else own, value) for own, value in sub._parameters.items())
    }
    present = {name.replace(f"{_CHECKPOINTED}.", ""): each for name, each in present.items()}
    for name in list(state):
        if not name.startswith(prefix) or name.startswith(inner):
            continue
        rest = name[len(prefix) :]
        value = state.pop(name)
        target = present.get(rest)
        if isinstance(target, DTensor) and isinstance(value, torch.Tensor) and not isinstance(value, DTensor):
            value = _in_pieces(target, value, module._settings.state_dict_type)
        state[inner + rest] = value


def _in_pieces(target: DTensor, value: torch.Tensor, kind: StateDictType) -> DTensor:
    if kind is StateDictType.LOCAL_STATE_DICT:
        return DTensor(value.detach().to(target.device), target._spec, requires_grad=False)
    return lying_like(target, value)
