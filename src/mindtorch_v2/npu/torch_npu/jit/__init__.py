"""`torch_npu.jit`: traces with operators of Ascend's in the place of PyTorch's."""

from .register_fusion_pattern import optimize

__all__ = ["optimize"]
