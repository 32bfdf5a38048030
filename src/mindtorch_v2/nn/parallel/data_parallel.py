"""`DataParallel`: one process, several devices."""

from ..modules.module import Module

__all__ = ["DataParallel", "data_parallel"]

_MESSAGE = "is not implemented: there is no device type with several devices to replicate a module on"


class DataParallel(Module):
    """Not implemented; raises NotImplementedError when it is made."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        raise NotImplementedError(f"nn.DataParallel {_MESSAGE}")


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Not implemented; raises NotImplementedError."""
    raise NotImplementedError(f"nn.parallel.data_parallel {_MESSAGE}")
