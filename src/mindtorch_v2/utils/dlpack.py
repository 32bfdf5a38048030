"""Exchange of memory with other libraries through DLPack."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ["from_dlpack", "to_dlpack"]


def from_dlpack(ext_tensor: Any, **options: Any) -> torch.Tensor:
    """A tensor on the memory of another library's array or of a DLPack capsule, without a copy.

    >>> torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2)))
    tensor([1., 1.])
    """
    return torch.from_dlpack(ext_tensor, **options)


def to_dlpack(tensor: torch.Tensor) -> Any:
    """A DLPack capsule of the tensor's memory, to be consumed once.

    >>> from mindtorch_v2.utils.dlpack import from_dlpack, to_dlpack
    >>> x = torch.tensor([1.0, 2.0])
    >>> shared = from_dlpack(to_dlpack(x))
    >>> shared[0] = 7.0
    >>> x
    tensor([7., 2.])
    """
    return tensor.__dlpack__()
