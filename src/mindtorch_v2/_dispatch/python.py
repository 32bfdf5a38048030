"""The block in which PyTorch's dispatcher asks for kernels in Python first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mindtorch_v2._subclasses.crossref import enable_crossref_functionalize

__all__ = ["enable_crossref_functionalize", "enable_python_dispatcher", "no_python_dispatcher"]


@contextlib.contextmanager
def enable_python_dispatcher() -> Iterator[None]:
    """A block that changes nothing: kernels in Python are registered and found like all others here."""
    yield


@contextlib.contextmanager
def no_python_dispatcher() -> Iterator[None]:
    """A block that changes nothing, as `enable_python_dispatcher`."""
    yield
