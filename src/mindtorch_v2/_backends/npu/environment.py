"""Environment variables that programs for Ascend set and that have no effect here: named once, when the device is first asked for.

Those of CANN's own libraries are theirs to read, and are named on the emulator only, which has none of these libraries.
"""

from __future__ import annotations

import json
import os
import warnings

from . import libraries, versions

_QUEUE = "each call is handed to the device by the thread that makes it"
_ALLOCATOR = "the caching allocator has no such options"
_OVERFLOW = "infinities and NaN are kept, and no flag stands for them"
_COMMUNICATION = "the back end hccl of torch.distributed has no such option"
_COMPILED = "operators are ACLNN's, which are not compiled when a program runs"
_CHECKS = "no values are watched while a program trains"
_LOGS = "there are no logs of torch_npu's"
# Of torch_npu: name -> why.
WITHOUT_EFFECT = {
    "ACL_DEVICE_SYNC_TIMEOUT": "waits have no limit",
    "ACL_OP_COMPILER_CACHE_DIR": _COMPILED,
    "ACL_OP_COMPILER_CACHE_MODE": _COMPILED,
    "ACL_OP_INIT_MODE": _COMPILED,
    "COMBINED_ENABLE": "operators are not combined behind the program's back",
    "CPU_AFFINITY_CONF": "threads are not bound to cores",
    "HCCL_ASYNC_ERROR_HANDLING": _COMMUNICATION,
    "HCCL_EVENT_TIMEOUT": _COMMUNICATION,
    "INF_NAN_MODE_ENABLE": _OVERFLOW,
    "INF_NAN_MODE_FORCE_DISABLE": _OVERFLOW,
    "KINETO_USE_DAEMON": "profiles are asked for by the program, or by a file below PROF_CONFIG_PATH",
    "MSMONITOR_USE_DAEMON": "profiles are asked for by the program, or by a file below PROF_CONFIG_PATH",
    "MULTI_STREAM_MEMORY_REUSE": "blocks of several streams are reused as record_stream says",
    "NPU_ASD_ENABLE": _CHECKS,
    "NPU_ASD_SIGMA_THRESH": _CHECKS,
    "NPU_ASD_UPPER_THRESH": _CHECKS,
    "OOM_SNAPSHOT_ENABLE": "no snapshot of the memory is written",
    "OOM_SNAPSHOT_PATH": "no snapshot of the memory is written",
    "P2P_HCCL_BUFFSIZE": _COMMUNICATION,
    "PER_STREAM_QUEUE": _QUEUE,
    "PYTORCH_NO_NPU_MEMORY_CACHING": _ALLOCATOR,
    "RANK_TABLE_FILE": _COMMUNICATION,
    "STREAMS_PER_DEVICE": "a device has 32 streams of each priority",
    "TASK_QUEUE_ENABLE": _QUEUE,
    "TORCH_HCCL_BLOCKING_WAIT": _COMMUNICATION,
    "TORCH_HCCL_DESYNC_DEBUG": _COMMUNICATION,
    "TORCH_HCCL_ZERO_COPY": _COMMUNICATION,
    "TORCH_NPUGRAPH_GC": "a capture collects garbage first",
    "TORCH_NPU_LEGACY_IMPL_LIST": "each operator has one implementation",
    "TORCH_NPU_LOGS": _LOGS,
    "TORCH_NPU_LOGS_FILTER": _LOGS,
    "TORCH_NPU_USE_COMPATIBLE_IMPL": "operators always act as PyTorch's",
}  # fmt: skip
# Of CANN's libraries, which the emulator does without.
OF_CANN = (
    "ACLNN_CACHE_LIMIT", "ASCEND_GLOBAL_EVENT_ENABLE", "ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_GLOBAL_RESOURCE_CONFIG",
    "ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", "ASCEND_SLOG_PRINT_TO_STDOUT", "DISABLE_L2_CACHE", "GE_PROFILING_TO_STD_OUT", "HCCL_ALGO",
    "HCCL_BUFFSIZE", "HCCL_CONNECT_TIMEOUT", "HCCL_DETERMINISTIC", "HCCL_HOST_SOCKET_PORT_RANGE", "HCCL_IF_BASE_PORT", "HCCL_IF_IP",
    "HCCL_INTRA_PCIE_ENABLE", "HCCL_INTRA_ROCE_ENABLE", "HCCL_LOGIC_SUPERPOD_ID", "HCCL_NPU_SOCKET_PORT_RANGE",
    "HCCL_OP_EXPANSION_MODE", "HCCL_RDMA_RETRY_CNT", "HCCL_RDMA_TIMEOUT", "HCCL_SOCKET_FAMILY", "HCCL_SOCKET_IFNAME",
    "HCCL_WHITELIST_DISABLE", "HCCL_WHITELIST_FILE", "LCCL_DETERMINISTIC", "TORCH_ACL_INIT_CONFIG_PATH",
)  # fmt: skip


OPTIONS_FILE = "TORCH_ACL_INIT_CONFIG_PATH"
_DEFAULT_DEVICE = "defaultDevice"  # a part of that file, from CANN 8.3 on


def options_file() -> bytes | None:
    """The file of options that CANN is started with, as TORCH_ACL_INIT_CONFIG_PATH names it; None without.

    RuntimeError for a file that is not there or not JSON, and one that does not say what the first device is, which CANN wants
    from 8.3 on: {"defaultDevice": {"default_device": "0"}}; before, it must not say so.
    """
    path = os.environ.get(OPTIONS_FILE)
    if not path:
        return None
    if not os.path.isfile(path):
        raise RuntimeError(f"{OPTIONS_FILE}: the path {path!r} is invalid: there is no such file")
    try:
        with open(path, encoding="utf-8") as file:
            options = json.load(file)
    except OSError as error:
        raise RuntimeError(f"{OPTIONS_FILE}: Failed to open user acl json {path!r}: {error.strerror}") from None
    except ValueError as error:
        raise RuntimeError(f"{OPTIONS_FILE}: Failed to parse user acl json {path!r}: {error}") from None
    first = options.get(_DEFAULT_DEVICE) if isinstance(options, dict) else None
    cann = versions.of_installed(libraries.roots())
    if cann is not None and versions.order(cann) < versions.order("8.3.RC1"):
        if first is not None:
            raise RuntimeError(
                f"{OPTIONS_FILE}: {path!r} contains '{_DEFAULT_DEVICE}', which CANN {cann} does not know"
            )
    elif not isinstance(first, dict):
        raise RuntimeError(
            f'{OPTIONS_FILE}: {path!r} lacks \'{_DEFAULT_DEVICE}\': add "{_DEFAULT_DEVICE}": {{"default_device": "0"}}'
        )
    elif first.get("default_device") != "0":
        raise RuntimeError(
            f'{OPTIONS_FILE}: \'{_DEFAULT_DEVICE}\' requires "default_device": "0", but it is {first.get("default_device")!r}'
        )
    return os.fsencode(path)


def tell(emulated: bool) -> None:
    """Warn once of the variables that are set and have no effect, with the reasons."""
    mode = os.environ.get("ACL_OP_INIT_MODE")
    if mode and mode not in ("0", "1", "2"):
        warnings.warn(f"Get env ACL_OP_INIT_MODE not in [0, 1, 2], but it is {mode!r}", stacklevel=2)
    found = {name: why for name, why in WITHOUT_EFFECT.items() if os.environ.get(name)}
    if emulated:
        found |= {name: "the emulator has no such option" for name in OF_CANN if os.environ.get(name)}
    if found:
        said = "; ".join(f"{name} ({why})" for name, why in found.items())
        warnings.warn(f"environment variables that are set and have no effect on NPUs here: {said}", stacklevel=2)
