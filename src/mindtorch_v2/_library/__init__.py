"""The parts of `torch.library`: schemas from annotations, libraries, operators made of functions, their checks."""

from __future__ import annotations

import importlib
from typing import Any


def __getattr__(name: str) -> Any:  # PyTorch's names of what few programs ask for
    if name == "simple_registry":
        return importlib.import_module("mindtorch_v2._library.simple_registry")
    if name in ("fake_class_registry", "register_fake_class"):
        found = importlib.import_module("mindtorch_v2._library.fake_class_registry")
        return found if name == "fake_class_registry" else found.register_fake_class
    if name == "utils":
        return importlib.import_module("mindtorch_v2._library.utils")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
