"""The common parts of modules of training that is aware of quantization: the configuration, and coming from float modules."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import nn

__all__ = ["check_float", "needed"]


def needed(qconfig: Any) -> Any:
    """A configuration; AssertionError where there is none."""
    if not qconfig:
        raise AssertionError("qconfig must be provided for QAT module")
    return qconfig


def check_float(mod: nn.Module, wanted: bool, text: str, word: str = "qconfig") -> None:
    """AssertionError, with a text, for a module of another class than `from_float` takes, or one without configuration."""
    if not wanted:
        raise AssertionError(text)
    if not hasattr(mod, "qconfig"):
        raise AssertionError("Input float module must have qconfig defined")
    if not mod.qconfig:
        raise AssertionError(f"Input float module must have a valid {word}")
