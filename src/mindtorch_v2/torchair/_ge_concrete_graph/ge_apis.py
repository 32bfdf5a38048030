"""The operators of GE, as functions."""

from mindtorch_v2._backends.ge import attr
from mindtorch_v2._backends.ge.apis import Cast, Clone, Const, custom_op
from mindtorch_v2._backends.ge.apis import __getattr__ as __getattr__  # every other operator

__all__ = ["Cast", "Clone", "Const", "attr", "custom_op"]
