"""`torch.utils.deterministic`: what `torch.use_deterministic_algorithms(True)` does beside choosing kernels."""

import sys
import types

from mindtorch_v2._core.deterministic import fills_uninitialized_memory, set_fill_uninitialized_memory


class _Settings(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether new memory is filled with a known value while deterministic algorithms are asked for."""
        return fills_uninitialized_memory()

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, fill: bool) -> None:
        if not isinstance(fill, bool):
            raise RuntimeError(f"expected a bool, but got {type(fill).__name__}")
        set_fill_uninitialized_memory(fill)


sys.modules[__name__].__class__ = _Settings
