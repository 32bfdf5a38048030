"""Infinities among the symbolic integers."""

from mindtorch_v2._core.unavailable import unavailable_class

__all__ = ["IntInfinity", "NegativeIntInfinity"]

IntInfinity = unavailable_class("torch.utils._sympy.numbers.IntInfinity")
NegativeIntInfinity = unavailable_class("torch.utils._sympy.numbers.NegativeIntInfinity")
