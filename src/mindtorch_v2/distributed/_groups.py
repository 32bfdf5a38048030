"""The process groups of this process: the default one, those made from it, and their ranks."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import importlib.util
import os
import secrets
import socket
import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _flight
from mindtorch_v2.distributed._foreign import as_backend
from mindtorch_v2.distributed._group import (
    LIBRARIES,
    Backend,
    ProcessGroup,
    is_nccl_available,
    libraries_of,
    made_by_plugin,
)
from mindtorch_v2.distributed._stores import HashStore, PrefixStore, seconds_of
from mindtorch_v2.distributed._tcp_store import TCPStore
from mindtorch_v2.distributed.rendezvous import rendezvous

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "Backend",
    "GroupMember",
    "ProcessGroup",
    "default_pg_timeout",
    "destroy_process_group",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
]

default_pg_timeout = datetime.timedelta(minutes=30)
# What the launchers of MPIs tell the processes that they start.
_MPI_VARIABLES = frozenset(
    {"MPI_LOCALNRANKS", "MV2_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "PMIX_RANK", "PMI_RANK"}
)
_NOT_INITIALISED = "Default process group has not been initialized, please make sure to call init_process_group."


def is_available() -> bool:
    """Whether process groups can be made: yes.

    >>> torch.distributed.is_available()
    True
    """
    return True


def is_backend_available(backend: str) -> bool:
    """Whether the communication library of that name can be used: "gloo", "hccl" for Ascend NPUs, "nccl" for NVIDIA GPUs, "mpi" with
    mpi4py.

    >>> torch.distributed.is_backend_available("gloo"), torch.distributed.is_backend_available("pigeons")
    (True, False)
    """
    name = backend.lower()
    asked = {"mpi": is_mpi_available, "nccl": is_nccl_available}.get(name)
    return name in Backend.backend_list[1:] and (asked is None or asked())


def is_gloo_available() -> bool:
    """Whether there is the back end "gloo", which is our own: yes.

    >>> torch.distributed.is_gloo_available()
    True
    """
    return True


def is_mpi_available() -> bool:
    """Whether MPI can be used: with mpi4py, the extra `mindtorch_v2[mpi]`, unless another launcher than MPI's started a job.

    Libraries take MPI where they find it: in processes that torchrun started it could not connect them.

    >>> torch.distributed.is_mpi_available()
    False
    """
    if importlib.util.find_spec("mpi4py") is None:
        return False
    return os.environ.get("WORLD_SIZE", "1") == "1" or not _MPI_VARIABLES.isdisjoint(os.environ)


def is_ucc_available() -> bool:
    """Whether UCC can be used: no.

    >>> torch.distributed.is_ucc_available()
    False
    """
    return False


def is_xccl_available() -> bool:
    """Whether XCCL can be used: no.

    >>> torch.distributed.distributed_c10d.is_xccl_available()
    False
    """
    return False


def is_torchelastic_launched() -> bool:
    """Whether this process was started by `torch.distributed.run`.

    >>> torch.distributed.is_torchelastic_launched()
    False
    """
    return "TORCHELASTIC_RUN_ID" in os.environ


class _World:
    """The groups that this process is in, in PyTorch's fields: libraries read them, and put another world in its place.

    One that has threads for ranks gives each thread its own (`torch.distributed.distributed_c10d._world`).
    """

    def __init__(self) -> None:
        self.default_pg: Any = None
        self.pg_map: dict[Any, tuple[str, Any]] = {}  # group -> (its back end's name, its store)
        self.pg_names: dict[Any, str] = {}
        self.pg_group_ranks: dict[Any, dict[int, int]] = {}  # group -> {rank in the job: rank in the group}
        self.pg_backend_config: dict[Any, str] = {}  # group -> its back ends by device, as text


_world = _World()


class _WorldMember(type):
    @property
    def WORLD(cls) -> Any:  # PyTorch's name
        """The default group; None before `init_process_group`."""
        return _world.default_pg


class group(metaclass=_WorldMember):  # PyTorch's name
    """`group.WORLD` is the default group.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.group.WORLD.size()
    1
    >>> dist.destroy_process_group()
    """


class GroupMember(metaclass=_WorldMember):
    """`GroupMember.NON_GROUP_MEMBER` is what `new_group` gives to processes that are not in the group.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.GroupMember.WORLD is dist.group.WORLD, dist.GroupMember.NON_GROUP_MEMBER
    (True, -100)
    >>> dist.destroy_process_group()
    """

    NON_GROUP_MEMBER = -100


def _get_default_group():
    if _world.default_pg is None:
        raise ValueError(_NOT_INITIALISED)
    return _world.default_pg


def _get_default_store():
    return _world.pg_map[_get_default_group()][1]


def _set_thread_isolation_mode(enable: bool) -> None:
    """Say whether threads have groups of their own: there is nothing to switch, as names are looked up in `_world`."""


def _store_based_barrier(
    rank: int,
    store: Any,
    group_name: str,
    rendezvous_count: int,
    timeout: datetime.timedelta,
    logging_interval: Any = None,
) -> None:
    """Wait until that many processes came here with the same name."""
    key = f"store_based_barrier_key:{group_name}"
    if store.add(key, 1) == rendezvous_count:
        store.set(f"{key}:last_worker", "1")
    store.wait([f"{key}:last_worker"], timeout)


def _set_pg_timeout(timeout: datetime.timedelta, group: ProcessGroup | None = None) -> None:
    """Say how long the collectives of a group may take that begin from now on. All ranks call it."""
    if not isinstance(timeout, datetime.timedelta):
        raise TypeError(
            f"Expected timeout argument to be of type datetime.timedelta, but got {type(timeout).__name__}: {timeout!r}"
        )
    made = resolve(group)
    made._timeout = timeout
    for each in made._backends.values():
        each.set_timeout(timeout)


def resolve(group: ProcessGroup | None) -> ProcessGroup:
    """The group that an argument means: None is the default one. ValueError for what is no group."""
    if group is None:
        return _get_default_group()
    if not isinstance(group, ProcessGroup):
        raise ValueError(
            f"Process group {group} is not initialized in the world group map. Please initialize the group first."
        )
    return group


def known_groups() -> list[ProcessGroup]:
    """The groups that this process is in, the first one first."""
    return list(_world.pg_backend_config)


def resolve_name(name: str) -> ProcessGroup:
    """The group of that name; RuntimeError if this process is in none."""
    for each in known_groups():
        if each.group_name == name:
            return each
    raise RuntimeError(f"Could not resolve the process group registered under the name {name}")


def group_of_ranks(ranks: list[int]) -> ProcessGroup:
    """The group of those ranks of the job; ValueError if there is none."""
    for each in known_groups():
        if list(each._ranks) == list(ranks):
            return each
    raise ValueError(f"no process group of the ranks {list(ranks)} was made: torch.distributed.new_group makes one")


def outside(group: Any) -> bool:
    """Whether this process is not in the group."""
    return group == GroupMember.NON_GROUP_MEMBER


def warn_outside(function: str) -> None:
    """Say that a collective does nothing in this process."""
    warnings.warn(
        f"Running {function} on global rank {get_rank()} which does not belong to the given group.", stacklevel=3
    )


def root_in(
    group: ProcessGroup | None, global_rank: int | None, group_rank: int | None, default: int | None = None
) -> int:
    """The rank in the group of what a program names by its rank in the job or in the group."""
    if global_rank is None and group_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        global_rank = default
    if global_rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    chosen: Any = global_rank
    return get_group_rank(group, chosen) if group_rank is None else group_rank


# ---- making and ending groups ----


def is_initialized() -> bool:
    """Whether the default process group exists.

    >>> torch.distributed.is_initialized()
    False
    """
    return _world.default_pg is not None


def _make(store, name, ranks, rank, backend, timeout, description, options=None):
    """A group of those ranks, known from now on. Only the job's first one is made of a store that is not the default group's."""
    libraries = libraries_of(backend)
    about = description or "undefined"
    group, backends = None, {}
    with contextlib.ExitStack() as failed:
        for device, library in libraries.items():
            place = PrefixStore(f"{name}/{library}", store)
            if library in Backend._plugins:
                each = made_by_plugin(library, place, rank, ranks, timeout, name, options)
                if isinstance(each, ProcessGroup):  # the program's own class is the group, for all devices
                    group, backends = each, dict.fromkeys(libraries, each)
                    break
            else:
                module, class_name = LIBRARIES[library]
                kind = getattr(importlib.import_module(f"mindtorch_v2.distributed.{module}"), class_name)
                each = kind(*(() if library == "fake" else (place,)), rank, len(ranks), timeout)
                failed.callback(each.close)
            backends[device] = each
        failed.pop_all()
    group = ProcessGroup(rank, len(ranks)) if group is None else group
    backends = {device: as_backend(each) for device, each in backends.items()}
    group._adopt(name, ranks, backends, backend, timeout, about)
    for each in backends.values():
        if hasattr(each, "recorded"):
            _flight.names_of_group(each.recorded, name, about, ranks)
    own = store if _world.default_pg is None else PrefixStore(name, store)
    _world.pg_map[group] = Backend(backend or Backend.UNDEFINED), own
    _world.pg_names[group] = name
    _world.pg_group_ranks[group] = {each: place for place, each in enumerate(ranks)}
    _world.pg_backend_config[group] = ",".join(f"{device}:{library}" for device, library in libraries.items())
    return group


def _store_of_mpi(timeout):
    """(store, rank, size) of a job that MPI started: the first rank has the store, and tells the others where."""
    from mindtorch_v2.distributed import _mpi

    rank, size = _mpi.world()
    host = socket.gethostname() if size > 1 else "localhost"
    token = os.environ.setdefault("MINDTORCH_JOB_TOKEN", secrets.token_hex(16))
    store = TCPStore(host, 0, size, True, timeout, wait_for_workers=False) if rank == 0 else None
    port, os.environ["MINDTORCH_JOB_TOKEN"] = _mpi.address_of_first((store.port, token) if store else None)
    host = _mpi.address_of_first(host)
    return store or TCPStore(host, port, size, False, timeout), rank, size


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Device | None = None,
) -> None:
    """Make the default process group. All processes of the job call it, and it returns when they have found each other.

    Args:
        backend: "gloo" for tensors of the CPU, "hccl" for those of NPUs, "nccl" for those of NVIDIA GPUs, "cpu:gloo,npu:hccl" for
            both, None for all; "mpi" by mpi4py.
        init_method: "env://" (the default: MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE), "tcp://host:port", "file:///path".
        timeout: how long a collective may take, a `datetime.timedelta`; half an hour if None.
        world_size, rank: how many processes there are, and which this one is, unless `init_method` says so, or MPI does.
        store: a store instead of `init_method`.
        group_name, pg_options, device_id: accepted as in PyTorch.

    ValueError if it was called before or something is missing, RuntimeError if the back end is not there or the others do
    not come.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if _world.default_pg is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    timeout = default_pg_timeout if timeout is None else timeout
    seconds_of(timeout)
    if backend == Backend.FAKE:
        store = HashStore()  # nobody else is there
    elif store is None and init_method is None and "mpi" in (backend or "").lower() and "MASTER_ADDR" not in os.environ:
        store, rank, world_size = _store_of_mpi(timeout)
    elif store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout=timeout))
        store.set_timeout(timeout)
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} is not one of the {world_size} of the world size")
    # A store may outlive the group (a launcher's does): what the ranks said in an earlier one must not be taken for this one's.
    store = PrefixStore(f"default_pg/{store.add(f'default_pg/{rank}', 1)}", store)
    ranks = list(range(world_size))
    _world.default_pg = _make(store, "0", ranks, rank, backend, timeout, "default_pg", pg_options)


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Device | None = None,
) -> Any:
    """Make a group of some of the processes. All processes of the job call it, those that are not in it too.

    Args:
        ranks: who is in it; None is everybody.
        timeout, backend: as for `init_process_group`; those of the default group if None.
        use_local_synchronization: whether only the group's processes call it.

    Returns the group, or `GroupMember.NON_GROUP_MEMBER`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> group = dist.new_group([0])
    >>> group.size(), dist.get_rank(group)
    (1, 0)
    >>> dist.destroy_process_group()
    """
    default = _get_default_group()
    size = default.size()
    ranks = list(range(size)) if ranks is None else sorted(ranks)
    if len(ranks) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    for rank in ranks:
        if not 0 <= rank < size:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
    timeout = default._timeout if timeout is None else timeout
    seconds_of(timeout)
    kind = f"of_{'_'.join(map(str, ranks))}/" if use_local_synchronization else ""  # others do not count such groups
    default._made[kind] += 1
    if default.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    backend = backend or default._asked_for
    name, place = f"{kind}{default._made[kind]}", ranks.index(default.rank())
    return _make(_get_default_store(), name, ranks, place, backend, timeout, group_desc, pg_options)


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> Any:
    """Make groups of `group_size` neighbouring ranks. Returns this process' group and the list of all.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine, groups = dist.new_subgroups(group_size=1)
    >>> mine.size(), len(groups)
    (1, 1)
    >>> dist.destroy_process_group()
    """
    size = resolve(group).size()
    if group_size is None:
        group_size = int(os.environ.get("LOCAL_WORLD_SIZE", size))
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    members = list(resolve(group)._ranks)
    return new_subgroups_by_enumeration(
        [members[start : start + group_size] for start in range(0, size, group_size)],
        timeout,
        backend,
        group_desc=group_desc,
    )


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: list[list[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple:
    """Make a group for each list of ranks, which have nothing in common. Returns this process' group and the list of all.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mine, groups = dist.new_subgroups_by_enumeration([[0]])
    >>> dist.get_process_group_ranks(mine)
    [0]
    >>> dist.destroy_process_group()
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    place: dict[int, list[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in place:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {place[rank]} and {ranks}")
            place[rank] = ranks
    made = [new_group(ranks, timeout, backend, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    return next((group for group in made if not outside(group)), None), made


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """End a group, and with the default group (None) all of them: finish what was started, and hang up.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if group is not None and outside(group):
        return
    ended = _world.default_pg if group is None else group
    if ended is None:
        raise AssertionError("Process group cannot be None")
    if ended not in _world.pg_backend_config:
        raise ValueError("Invalid process group specified")
    all_of_them = list(_world.pg_backend_config) if ended is _world.default_pg else [ended]
    if ended is _world.default_pg:
        _world.default_pg = None
    for each in all_of_them:
        for known in (_world.pg_map, _world.pg_names, _world.pg_group_ranks, _world.pg_backend_config):
            known.pop(each, None)
    for each in all_of_them:
        each.shutdown()


# ---- questions ----


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process' rank in a group; -1 if it is not in it.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    return -1 if outside(group) else _ranked(group).rank()


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes a group has; -1 if this one is not in it.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    return -1 if outside(group) else _ranked(group).size()


def get_backend(group: ProcessGroup | None = None) -> str:
    """The name of a group's back end.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    found = _known(group)
    return Backend(found._asked_for if found._asked_for is not None else found.name())


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """A group's back ends by device: "cpu:gloo,npu:hccl".

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_backend_config()
    'cpu:gloo'
    >>> dist.destroy_process_group()
    """
    return _world.pg_backend_config[_known(group)]


def _ranked(group):
    """A group whose ranks can be asked for; ValueError for what is none."""
    if group is not None and not isinstance(group, ProcessGroup):
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return resolve(group)


def _known(group):
    found = resolve(group)
    if found not in _world.pg_backend_config:
        raise ValueError("Invalid process group specified")
    return found


def get_default_backend_for_device(device: str | torch.device) -> str:
    """The back end that `init_process_group()` takes for a device.

    >>> torch.distributed.get_default_backend_for_device("cpu")
    'gloo'
    """
    kind = torch.device(device).type
    backend = Backend.default_device_backend_map.get(kind)
    if backend is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return backend


def get_process_group_ranks(group: ProcessGroup | None) -> list:
    """The ranks in the job of a group's processes.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    >>> dist.destroy_process_group()
    """
    return list(resolve(group)._ranks)


def get_global_rank(group: ProcessGroup | None, group_rank: int) -> int:
    """The rank in the job of a group's process.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    if group is None or group is _world.default_pg:
        return group_rank
    if group not in _world.pg_backend_config:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group._ranks[group_rank]


def get_group_rank(group: ProcessGroup | None, global_rank: int) -> int:
    """The rank in a group of one of the job's processes.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    if group is None or group is _world.default_pg:
        return global_rank
    if group not in _world.pg_backend_config:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    if global_rank not in group._ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group._ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """This process' number on its machine, from LOCAL_RANK; RuntimeError without it and a `fallback_rank`.

    >>> torch.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


def get_pg_count() -> int:
    """How many groups there are.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> group = dist.new_group([0])
    >>> dist.get_pg_count()
    2
    >>> dist.destroy_process_group()
    """
    return len(_world.pg_backend_config)
