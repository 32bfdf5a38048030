"""Settings of `fully_shard`: dtypes, and where pieces are kept."""

from __future__ import annotations

import dataclasses

import mindtorch_v2 as torch

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """Dtypes of the computation; parameters and optimizers keep their own.

    param_dtype: of parameters while they are whole, and so of the computation; None: as they are.
    reduce_dtype: in which gradients are summed over the ranks; None: that of the gradients.
    output_dtype: of floating outputs of the module; None: as they are.
    cast_forward_inputs: whether floating inputs are cast to `param_dtype`.

    >>> from mindtorch_v2.distributed import fsdp
    >>> policy = fsdp.MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    >>> policy.param_dtype, policy.output_dtype
    (torch.bfloat16, None)
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    output_dtype: torch.dtype | None = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass
class OffloadPolicy:
    """Pieces stay on the device.

    >>> from mindtorch_v2.distributed import fsdp
    >>> isinstance(fsdp.CPUOffloadPolicy(), fsdp.OffloadPolicy)
    True
    """


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Pieces of parameters, gradients and optimizer states are kept by the host, and copied to the device to be gathered.

    pin_memory: whether in memory that the device copies from directly.

    >>> from mindtorch_v2.distributed import fsdp
    >>> fsdp.CPUOffloadPolicy(pin_memory=False).pin_memory
    False
    """

    pin_memory: bool = True
