"""`DTensor` by its name."""

import mindtorch_v2 as torch
from mindtorch_v2._core.unavailable import unavailable_class

__all__ = ["DTensor"]

DTensor = unavailable_class("torch.distributed.tensor.DTensor", bases=(torch.Tensor,))
