"""`torch.fx.Proxy` and its kin by their names."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = ["Attribute", "ParameterProxy", "Proxy", "TraceError", "TracerBase"]

Proxy = unavailable_class("torch.fx.Proxy")
Attribute = unavailable_class("torch.fx.proxy.Attribute", bases=(Proxy,))
ParameterProxy = unavailable_class("torch.fx.proxy.ParameterProxy", bases=(Proxy,))
TracerBase = unavailable_class("torch.fx.proxy.TracerBase")


class TraceError(ValueError):
    """Raised where a symbolic trace meets control flow that depends on data."""
