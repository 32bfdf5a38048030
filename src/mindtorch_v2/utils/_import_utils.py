"""Packages that may or may not be installed."""

from __future__ import annotations

import functools
import importlib.util
import types

__all__ = ["import_dill"]


def _check_module_exists(name: str) -> bool:
    """Whether a module of that name could be imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


@functools.lru_cache
def dill_available() -> bool:
    """Whether the package dill is installed."""
    return _check_module_exists("dill")


@functools.lru_cache
def import_dill() -> types.ModuleType | None:
    """The package dill, or None where it is not installed."""
    if not dill_available():
        return None
    import dill

    # Merely imported it changes what pickle does with classes; it is asked for where it is wanted.
    dill.extend(use_dill=False)
    return dill
