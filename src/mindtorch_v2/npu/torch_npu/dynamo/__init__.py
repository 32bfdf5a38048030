"""The back end for `torch.compile` by the module that torch_npu has it in."""

from mindtorch_v2 import torchair

__all__ = ["torchair"]
