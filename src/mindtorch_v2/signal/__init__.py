"""`torch.signal`: signal processing; so far its windows."""

from . import windows

__all__ = ["windows"]
