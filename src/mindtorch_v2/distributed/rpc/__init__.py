"""`torch.distributed.rpc`, which libraries import: functions are not called on other processes here."""

from mindtorch_v2._core.unavailable import unavailable_names

_NAMES = unavailable_names(
    "torch.distributed.rpc",
    functions="get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
    classes="RRef TensorPipeRpcBackendOptions",
    remedy="processes exchange tensors by the collectives of torch.distributed",
)
from mindtorch_v2.distributed.rpc import api

globals().update(_NAMES)
__all__ = sorted([*_NAMES, "is_available"])


def is_available() -> bool:
    """Whether functions can be called on other processes: False.

    >>> torch.distributed.rpc.is_available()
    False
    """
    return False
