"""Errors of PyTorch's compiler about the compilers that it calls."""

from __future__ import annotations

__all__ = ["CppCompileError", "InvalidCxxCompiler"]


class InvalidCxxCompiler(RuntimeError):
    """There is no compiler for generated C++."""


class CppCompileError(RuntimeError):
    """Generated C++ does not compile."""
