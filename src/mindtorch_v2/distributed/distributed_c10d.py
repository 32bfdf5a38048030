"""`torch.distributed.distributed_c10d`, where PyTorch has the functions that `torch.distributed` offers."""

import sys
import types
from typing import Any

from mindtorch_v2.distributed import _errors, _groups, _objects, _operations, _options
from mindtorch_v2.distributed._coalescing import _coalescing_manager, _CoalescingManager
from mindtorch_v2.distributed._debug import DebugLevel, get_debug_level
from mindtorch_v2.distributed._errors import *  # noqa: F403  (all names of their __all__)
from mindtorch_v2.distributed._gloo import ProcessGroupGloo
from mindtorch_v2.distributed._groups import *  # noqa: F403  (all names of their __all__)
from mindtorch_v2.distributed._groups import (
    _get_default_group,
    _get_default_store,
    _set_pg_timeout,
    _set_thread_isolation_mode,
    _store_based_barrier,
)
from mindtorch_v2.distributed._objects import *  # noqa: F403  (all names of their __all__)
from mindtorch_v2.distributed._operations import *  # noqa: F403  (all names of their __all__)
from mindtorch_v2.distributed._operations import (
    all_gather_into_tensor as _all_gather_base,
)
from mindtorch_v2.distributed._operations import (
    reduce_scatter_tensor as _reduce_scatter_base,
)
from mindtorch_v2.distributed._options import *  # noqa: F403  (all names of their __all__)
from mindtorch_v2.distributed._reduce_op import ReduceOp, supports_complex
from mindtorch_v2.distributed._stores import FileStore, HashStore, PrefixStore, Store
from mindtorch_v2.distributed._tcp_store import TCPStore
from mindtorch_v2.distributed._work import Work
from mindtorch_v2.distributed._work import Work as _Work
from mindtorch_v2.distributed._work import of_future as _create_work_from_future
from mindtorch_v2.distributed.rendezvous import register_rendezvous_handler, rendezvous

__all__ = [
    *_errors.__all__,
    *_objects.__all__,
    *_operations.__all__,
    *_groups.__all__,
    *_options.__all__,
    "DebugLevel",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "ProcessGroupGloo",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "_CoalescingManager",
    "_all_gather_base",
    "_Work",
    "_coalescing_manager",
    "_create_work_from_future",
    "_get_default_group",
    "_get_default_store",
    "_reduce_scatter_base",
    "_set_pg_timeout",
    "_set_thread_isolation_mode",
    "_store_based_barrier",
    "get_debug_level",
    "register_rendezvous_handler",
    "rendezvous",
    "supports_complex",
]


class _Module(types.ModuleType):
    """The module, whose `_world` is the groups' own: programs read it, and put another one in its place."""

    @property
    def _world(self) -> Any:
        return _groups._world

    @_world.setter
    def _world(self, world: Any) -> None:
        _groups._world = world


sys.modules[__name__].__class__ = _Module
