"""`DistributedDataParallel`: several processes."""

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Not implemented; raises NotImplementedError when it is made."""

    def __init__(self, module, *args, **kwargs):
        raise NotImplementedError(
            "nn.parallel.DistributedDataParallel is not implemented: there is no process group to synchronize with"
        )
