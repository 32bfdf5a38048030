"""Operators that are made of functions, under the name of PyTorch's module."""

from mindtorch_v2._library.definition import CustomOpDef, custom_op

__all__ = ["CustomOpDef", "custom_op"]
