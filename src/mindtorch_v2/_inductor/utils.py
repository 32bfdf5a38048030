"""Which devices are GPUs to PyTorch's compiler, and whether there is one."""

from __future__ import annotations

from mindtorch_v2.utils._ordered_set import OrderedSet

__all__ = ["GPU_TYPES", "OrderedSet", "get_gpu_shared_memory", "get_gpu_type", "is_big_gpu", "is_gpu"]

GPU_TYPES = ["cuda", "mps", "xpu", "mtia"]


def is_gpu(device: str | None) -> bool:
    """Whether the name is that of a kind of GPU."""
    return device in GPU_TYPES


def get_gpu_type() -> str:
    """The kind of GPU that there is, "cuda" where there is none."""
    return "cuda"


def is_big_gpu(index_or_device: int | str = 0) -> bool:
    """Whether a GPU is large enough for tuned products: False, there is none."""
    return False


def get_gpu_shared_memory() -> int:
    """Bytes of shared memory of a GPU: 0, there is none."""
    return 0
