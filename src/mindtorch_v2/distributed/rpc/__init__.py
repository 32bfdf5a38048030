"""`torch.distributed.rpc`, which libraries import: functions are not called on other processes here."""

from mindtorch_v2._unavailable import unavailable_class, unavailable_function

__all__ = [
    "RRef",
    "TensorPipeRpcBackendOptions",
    "get_worker_info",
    "init_rpc",
    "is_available",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

_REMEDY = "processes exchange tensors by the collectives of torch.distributed"
RRef = unavailable_class("torch.distributed.rpc.RRef", _REMEDY)
TensorPipeRpcBackendOptions = unavailable_class("torch.distributed.rpc.TensorPipeRpcBackendOptions", _REMEDY)
get_worker_info = unavailable_function("torch.distributed.rpc.get_worker_info", _REMEDY)
init_rpc = unavailable_function("torch.distributed.rpc.init_rpc", _REMEDY)
remote = unavailable_function("torch.distributed.rpc.remote", _REMEDY)
rpc_async = unavailable_function("torch.distributed.rpc.rpc_async", _REMEDY)
rpc_sync = unavailable_function("torch.distributed.rpc.rpc_sync", _REMEDY)
shutdown = unavailable_function("torch.distributed.rpc.shutdown", _REMEDY)


def is_available():
    """Whether functions can be called on other processes: False."""
    return False
