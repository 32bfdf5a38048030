"""The registration of converters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2._backends.ge.registry import register_fx_node_ge_converter

__all__ = ["declare_supported", "register_fx_node_ge_converter"]


def declare_supported(supported_cases: Any) -> Callable[[Callable], Callable]:
    """Note the calls that a converter is tried with; the converter below stays as it is, and nothing is tried here."""

    def keep(function: Callable) -> Callable:
        function._supported_cases = list(supported_cases)  # type: ignore[attr-defined]  # (a mark on the function)
        return function

    return keep
