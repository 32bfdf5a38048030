"""How the operators of `torch.ops.quantized` are registered: a schema and what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._behaviours.quantized.table import named
from mindtorch_v2._core.quantizer import PerTensor
from mindtorch_v2.library import Library

_LIBRARIES = {name: Library(name, "FRAGMENT") for name in ("quantized", "_quantized", "sparse")}


def operator(*schemas: str, of: str = "quantized") -> Callable[[Callable], Callable]:
    """The decorated function is what the operators of `schemas` do, of any tensors."""

    def register(fn: Callable) -> Callable:
        for schema in schemas:
            library = _LIBRARIES[of]
            library.define(schema)
            name = schema.partition("(")[0]
            library.impl(name, named(f"{of}::{name.partition('.')[0]}", fn), "CompositeExplicitAutograd")
        return fn

    return register


def per_tensor(x: Any, name: str) -> PerTensor:
    """The quantizer of `x`; NotImplementedError for tensors of other kinds, RuntimeError where it has several scales."""
    found = _C._quantizer(x)
    if found is None:
        where = {"cpu": "CPU", "meta": "Meta"}.get(x.device.type, x.device.type.upper())
        raise NotImplementedError(
            f"Could not run 'quantized::{name}' with arguments from the '{where}' backend. It is for quantized tensors."
        )
    if not isinstance(found, PerTensor):
        raise RuntimeError(f"quantized::{name}: Only per tensor quantization is supported, not {found.scheme}")
    return found
