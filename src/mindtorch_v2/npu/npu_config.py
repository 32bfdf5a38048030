"""Switches of torch_npu. Those that steer what this package does not have are kept and can be read, and change nothing:
operators are never compiled one by one here.
"""

from __future__ import annotations

import types
from typing import Any

from mindtorch_v2._backends.npu import settings as _settings

__all__ = ["aclnn", "config", "conv", "is_jit_compile_false", "matmul", "set_compile_mode", "set_option"]

config = _settings.config
matmul = _settings.matmul
conv = _settings.conv
aclnn = types.SimpleNamespace(allow_hf32=True, version=None)
_options: dict = {}


def set_compile_mode(jit_compile: bool = False) -> None:
    """Whether operators may be compiled when they are called: here they never are, so False is what holds.

    RuntimeError for True, which asks for operators that are not there.
    """
    if jit_compile:
        raise RuntimeError(
            "set_compile_mode(): jit_compile=True asks for operators that are compiled when they are called; this package "
            "calls those of ACLNN, which are compiled already. Leave it False."
        )


def is_jit_compile_false() -> bool:
    """Whether operators are taken as they are, not compiled when they are called: True."""
    return True


def set_option(option: dict[str, Any]) -> None:
    """Keep options, a dictionary of names and values; TypeError for anything else. "jitCompile" may only be "disable"."""
    if not isinstance(option, dict):
        raise TypeError(f"npu option must be a dict, not {type(option).__name__}")
    if option.get("jitCompile", "disable") != "disable":
        set_compile_mode(True)
    _options.update(option)
