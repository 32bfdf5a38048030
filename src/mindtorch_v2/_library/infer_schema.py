"""`infer_schema` under the name of PyTorch's module."""

from mindtorch_v2._library.infer import infer_schema

__all__ = ["infer_schema"]
