"""`torch._inductor`: the compiler behind PyTorch's `torch.compile`. This package has back ends of its own; here are the names
that programs set and test suites import."""

from mindtorch_v2._inductor import config

__all__ = ["config"]
