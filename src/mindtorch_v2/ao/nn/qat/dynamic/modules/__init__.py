"""Modules for training that is aware of dynamic quantization."""

from mindtorch_v2.ao.nn.qat.dynamic.modules.linear import Linear

__all__ = ["Linear"]
