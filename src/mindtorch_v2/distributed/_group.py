"""A process group, and the names of the libraries that move its tensors: those of this package, and those that a program registers."""

from __future__ import annotations

import collections
import datetime
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.distributed._foreign import calls_of, ours
from mindtorch_v2.distributed._group_calls import GroupCalls

__all__ = [
    "LIBRARIES",
    "Backend",
    "DistributedBackendOptions",
    "ProcessGroup",
    "is_nccl_available",
    "libraries_of",
    "made_by_plugin",
]

# Where each back end's class is: those of devices are loaded when they are asked for.
LIBRARIES = {
    "fake": ("_fake", "FakeProcessGroup"),
    "gloo": ("_gloo", "ProcessGroupGloo"),
    "hccl": ("_hccl", "ProcessGroupHCCL"),
    "mpi": ("_mpi", "ProcessGroupMPI"),
    "nccl": ("_nccl", "ProcessGroupNCCL"),
}


class DistributedBackendOptions(NamedTuple):
    """The facts that a back end is told that was registered with `extended_api=True`; PyTorch's `_DistributedBackendOptions`."""

    store: Any
    group_rank: int
    group_size: int
    timeout: datetime.timedelta
    group_id: str
    global_ranks_in_group: Sequence[int]


class _Plugin(NamedTuple):
    """How a back end is made that a program registered."""

    creator_fn: Callable[..., Any]
    extended_api: bool


class Backend(str):
    """The name of a communication library, in lower case: `Backend("GLOO") == "gloo"`. ValueError if it is no text.

    >>> torch.distributed.Backend("GLOO"), torch.distributed.Backend.GLOO
    ('gloo', 'gloo')
    """

    UNDEFINED = "undefined"
    FAKE = "fake"
    GLOO = "gloo"
    HCCL = "hccl"
    NCCL = "nccl"
    MPI = "mpi"
    UCC = "ucc"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, HCCL, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "npu": HCCL}
    backend_capability = {
        FAKE: ["cpu", "cuda", "npu", "xpu"],
        GLOO: ["cpu"],
        HCCL: ["npu"],
        MPI: ["cpu"],
        NCCL: ["cuda"],
    }  # the devices of each
    _plugins: dict[str, _Plugin] = {}  # by name, in lower case

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        value = getattr(cls, name.upper(), name.lower())
        return value if isinstance(value, str) else name.lower()

    @classmethod
    def register_backend(
        cls, name: str, func: Callable[..., Any], extended_api: bool = False, devices: str | list[str] | None = None
    ) -> None:
        """Let `init_process_group` know a library by `name`.

        Args:
            func: gives a group (a subclass of `ProcessGroup`) for (store, rank, size, timeout); with `extended_api` for
                what there is to know in one object, and the options that `init_process_group` was given.
            devices: the kinds of devices whose tensors it moves.

        >>> class Alone(torch.distributed.ProcessGroup):
        ...     def allreduce(self, tensors, options):
        ...         future = torch.futures.Future()
        ...         future.set_result(tensors)
        ...         return torch._C._distributed_c10d._create_work_from_future(future)
        >>> dist = torch.distributed
        >>> dist.Backend.register_backend("alone", lambda store, rank, size, timeout: Alone(rank, size), devices="cpu")
        >>> dist.init_process_group("alone", store=dist.HashStore(), rank=0, world_size=1)
        >>> dist.all_reduce(torch.ones(2))
        >>> dist.get_backend(), isinstance(dist.group.WORLD, Alone)
        ('alone', True)
        >>> dist.destroy_process_group()
        """
        if devices is None:
            warnings.warn(
                f"Device capability of {name} unspecified, assuming `cpu` and `cuda` and `xpu`. Please specify it via the `devices` "
                "argument of `register_backend`.",
                stacklevel=2,
            )
        kinds = ["cpu", "cuda", "xpu"] if devices is None else [devices] if isinstance(devices, str) else list(devices)
        if not hasattr(cls, name.upper()):
            setattr(cls, name.upper(), name.lower())
        if name.lower() not in cls.backend_list:
            cls.backend_list.append(name.lower())
        if devices is not None:
            for each in kinds:
                cls.default_device_backend_map.setdefault(each, name.lower())
        cls.backend_capability[name.lower()] = kinds
        cls._plugins[name.lower()] = _Plugin(func, extended_api)


@ours
class ProcessGroup(GroupCalls):
    """Some of the job's processes, with a back end for each kind of device. Made by `init_process_group` and `new_group`.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> group = dist.group.WORLD
    >>> isinstance(group, dist.ProcessGroup), group.rank(), group.size()
    (True, 0, 1)
    >>> dist.destroy_process_group()
    """

    def __init__(self, *place: Any) -> None:
        """`place` ends with the rank and the size: what a subclass of a program's own says of itself."""
        self._rank, size = place[-2:]
        self._name, self._description = "", "undefined"
        self._asked_for: str | None = None
        self._ranks: Sequence[int] = range(size)
        self._backends: dict[str, Any] = {}  # {device type: back end}
        self._timeout: Any = None
        self._made: collections.Counter[str] = (
            collections.Counter()
        )  # groups whose names begin so, of the default group

    def _adopt(
        self,
        name: str,
        ranks: Sequence[int],
        backends: dict[str, Any],
        asked_for: str | None,
        timeout: datetime.timedelta,
        description: str,
    ) -> None:
        """Become a group of the job: `asked_for` is the argument `backend` that it was made with."""
        self._ranks, self._backends = ranks, backends
        self._asked_for, self._timeout = asked_for, timeout
        self._set_group_name(name)
        self._set_group_desc(description)

    # What a subclass may say itself has PyTorch's name of it in C++, and the one that programs call.

    def getRank(self) -> int:
        """This process' rank in the group."""
        return self._rank

    def getSize(self) -> int:
        """How many processes there are in the group."""
        return len(self._ranks)

    def getBackendName(self) -> str:
        """The back end's name."""
        return self._get_backend_name()

    def getGroupName(self) -> str:
        """The group's own name, the same on all ranks."""
        return self._name

    def setGroupName(self, name: str) -> None:
        """Give the group its name."""
        self._name = name

    def getGroupDesc(self) -> str:
        """The purpose of the group, as the program said it."""
        return self._description

    def setGroupDesc(self, group_desc: str) -> None:
        """Say what the group is for."""
        self._description = group_desc

    def rank(self) -> int:
        """This process' rank in the group."""
        return self.getRank()

    def size(self) -> int:
        """How many processes there are in the group."""
        return self.getSize()

    def name(self) -> str:
        """The back end's name."""
        return self.getBackendName()

    def _set_group_name(self, name: str) -> None:
        self.setGroupName(name)

    def _set_group_desc(self, group_desc: str) -> None:
        self.setGroupDesc(group_desc)

    @property
    def group_name(self) -> str:
        """The group's own name, the same on all ranks."""
        return self.getGroupName()

    @property
    def group_desc(self) -> str:
        """The purpose of the group, as the program said it."""
        return self.getGroupDesc()

    @property
    def bound_device_id(self) -> None:
        """The device that the group was tied to: none."""
        return None

    def _get_backend_name(self):
        if self._asked_for is None:
            return Backend.UNDEFINED
        return "custom" if ":" in self._asked_for else Backend(self._asked_for)

    def _get_backend(self, device):
        """The back end for a device; RuntimeError if the group has none."""
        backend = self._backends.get(torch.device(device).type)
        if backend is None and not self._backends:
            backend = calls_of(self)  # of a group that a program made itself
        if backend is None:
            raise RuntimeError(f"No backend type associated with device type {torch.device(device).type}")
        return backend

    @property
    def _device_types(self) -> list:
        return [torch.device(kind) for kind in self._backends]

    def abort(self) -> None:
        """Break the group's connections, here and at the other ranks."""
        for backend in self._backends.values():
            backend.abort()

    def shutdown(self) -> None:
        """Finish what was started and hang up."""
        for backend in self._backends.values():
            backend.close()
        self._backends = {}


def is_nccl_available() -> bool:
    """Whether NCCL can be used: where there is a driver of NVIDIA (or the emulated GPU) and the library, of the wheel nvidia-nccl.

    >>> torch.distributed.is_nccl_available() <= torch.cuda.is_available()
    True
    """
    from mindtorch_v2._backends.cuda import libraries

    if not libraries.has_driver():
        return False
    try:
        libraries.find("nccl")
    except OSError:
        return False
    return True


def libraries_of(backend: str | None) -> dict[str, str]:
    """{device type: library} for what a program named; None is what each kind of device has."""
    if backend in (None, Backend.UNDEFINED):
        known = Backend.default_device_backend_map
        named = {device: name for device, name in known.items() if name != Backend.NCCL or is_nccl_available()}
    elif ":" in backend:
        pairs = [part.split(":") for part in backend.lower().split(",")]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError(
                f"The custom backend string argument is invalid: {backend}.\n"
                "                Custom backend string is an experimental feature where the backend string must be in the format:\n"
                "                \"<device_type1>:<backend1>,<device_type2>:<backend2>...\". e.g. 'cpu:gloo,cuda:nccl'"
            )
        named = dict(pairs)
    else:
        named = dict.fromkeys(Backend.backend_capability.get(backend.lower(), ["cpu"]), backend.lower())
    for library in named.values():
        if library == "xccl" or (library == "nccl" and not is_nccl_available()):
            raise RuntimeError(f"Distributed package doesn't have {library.upper()} built in")
        if library not in LIBRARIES and library not in Backend._plugins:
            if ":" not in (backend or "") and library not in (*Backend.backend_list, "ucc"):
                raise AssertionError(f"Unknown backend type {library}")
            raise AssertionError(f"Unknown c10d backend type {library.upper()}")
    return named


def made_by_plugin(
    library: str, store: Any, rank: int, ranks: Sequence[int], timeout: datetime.timedelta, name: str, options: Any
) -> Any:
    """The group or back end that a program makes of a library that it registered."""
    create, extended = Backend._plugins[library]
    if extended:
        return create(DistributedBackendOptions(store, rank, len(ranks), timeout, name, ranks), options)
    return create(store, rank, len(ranks), timeout)
