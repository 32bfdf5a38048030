"""Tensor subclasses of PyTorch's compiler, by their names."""

from mindtorch_v2._subclasses.fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
