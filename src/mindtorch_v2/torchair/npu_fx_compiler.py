"""The back end by the module that torchair has it in."""

from mindtorch_v2._backends.ge.backend import get_compiler, get_npu_backend

__all__ = ["get_compiler", "get_npu_backend"]
