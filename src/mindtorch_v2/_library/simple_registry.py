"""Registrations of Python for operators beside their kernels, by the names of PyTorch's module."""

from __future__ import annotations

from typing import Any

from mindtorch_v2._library.names import handle_named
from mindtorch_v2._library.utils import Kernel


class _FakeImpl:
    """The kernel of an operator that takes tensors without values: `kernel` is None where it has none."""

    def __init__(self, handle: Any) -> None:
        self.kernel: Kernel | None = None
        if handle is not None and "Meta" in handle.kernels():
            where = handle.__dict__.get("kernel_origins", {}).get(handle.registration("Meta"), "")
            self.kernel = Kernel(handle.kernels()["Meta"] if isinstance(handle.kernels(), dict) else None, where)


class SimpleOperatorEntry:
    """An operator's entry: `qualname` and `fake_impl`."""

    def __init__(self, qualname: str) -> None:
        self.qualname = qualname
        self.fake_impl = _FakeImpl(handle_named(qualname))


class SimpleLibraryRegistry:
    """The entries by "ns::name"."""

    def find(self, qualname: str) -> SimpleOperatorEntry:
        """The entry of an operator, made of what is registered now."""
        return SimpleOperatorEntry(qualname)


singleton = SimpleLibraryRegistry()
