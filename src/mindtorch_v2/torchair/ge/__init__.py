"""The means that converters are written with: values, data types, attributes, and the operators of GE."""

from mindtorch_v2 import Tensor as TensorSpec  # converters are given `meta_outputs`: tensors without numbers
from mindtorch_v2._backends.ge import attr
from mindtorch_v2._backends.ge.apis import Cast, Clone, Const, custom_op
from mindtorch_v2._backends.ge.apis import __getattr__ as __getattr__  # every other operator
from mindtorch_v2._backends.ge.graph import Tensor
from mindtorch_v2._backends.ge.types import DataType, Format

__all__ = ["Cast", "Clone", "Const", "DataType", "Format", "Tensor", "TensorSpec", "attr", "custom_op"]
