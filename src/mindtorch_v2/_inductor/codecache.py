"""Compiled code that PyTorch's compiler generated: there is none here."""

from __future__ import annotations

from typing import Any, Never

from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2._inductor.exc import InvalidCxxCompiler

__all__ = ["CppCodeCache", "compiled_fx_graph_hash"]

compiled_fx_graph_hash = unavailable_function("torch._inductor.codecache.compiled_fx_graph_hash")


class CppCodeCache:
    """Libraries of generated C++."""

    @classmethod
    def load(cls, source_code: str, *args: Any, **kwargs: Any) -> Never:
        """Raise InvalidCxxCompiler: graphs are not compiled to C++ here."""
        raise InvalidCxxCompiler("torch._inductor generates no C++ in mindtorch_v2")
