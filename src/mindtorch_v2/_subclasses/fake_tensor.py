"""`FakeTensor` by its name: shapes without data are what the `meta` device is for here."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = ["FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]

FakeTensor = unavailable_class("torch._subclasses.FakeTensor", "use the meta device")
FakeTensorMode = unavailable_class("torch._subclasses.FakeTensorMode", "use torch.device('meta') as a context")


class UnsupportedFakeTensorException(RuntimeError):
    """Raised where an operator cannot run without data."""
