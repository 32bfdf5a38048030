"""Exchange of memory with other libraries through DLPack."""

import mindtorch_v2 as torch

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(ext_tensor, **options):
    """A tensor on the memory of another library's array or of a DLPack capsule, without a copy."""
    return torch.from_dlpack(ext_tensor, **options)


def to_dlpack(tensor):
    """A DLPack capsule of the tensor's memory, to be consumed once."""
    return tensor.__dlpack__()
