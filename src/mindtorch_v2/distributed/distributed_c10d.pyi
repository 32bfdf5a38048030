# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from typing import Any
from mindtorch_v2.distributed import _errors as _errors, _groups as _groups, _objects as _objects, _operations as _operations, _options as _options
from mindtorch_v2.distributed._coalescing import _coalescing_manager as _coalescing_manager, _CoalescingManager as _CoalescingManager
from mindtorch_v2.distributed._debug import DebugLevel as DebugLevel, get_debug_level as get_debug_level
from mindtorch_v2.distributed._errors import *
from mindtorch_v2.distributed._gloo import ProcessGroupGloo as ProcessGroupGloo
from mindtorch_v2.distributed._groups import *
from mindtorch_v2.distributed._groups import _get_default_group as _get_default_group, _get_default_store as _get_default_store, _set_pg_timeout as _set_pg_timeout, _set_thread_isolation_mode as _set_thread_isolation_mode, _store_based_barrier as _store_based_barrier
from mindtorch_v2.distributed._objects import *
from mindtorch_v2.distributed._operations import *
from mindtorch_v2.distributed._operations import all_gather_into_tensor as _all_gather_base
from mindtorch_v2.distributed._operations import reduce_scatter_tensor as _reduce_scatter_base
from mindtorch_v2.distributed._options import *
from mindtorch_v2.distributed._reduce_op import ReduceOp as ReduceOp, supports_complex as supports_complex
from mindtorch_v2.distributed._stores import FileStore as FileStore, HashStore as HashStore, PrefixStore as PrefixStore, Store as Store
from mindtorch_v2.distributed._tcp_store import TCPStore as TCPStore
from mindtorch_v2.distributed._work import Work as Work
from mindtorch_v2.distributed._work import Work as _Work
from mindtorch_v2.distributed._work import of_future as _create_work_from_future
from mindtorch_v2.distributed.rendezvous import register_rendezvous_handler as register_rendezvous_handler, rendezvous as rendezvous

