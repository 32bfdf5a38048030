"""Switches of torch_npu. Those that steer what this package does not have are kept and can be read, and change nothing:
operators are never compiled one by one here.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

from mindtorch_v2._backends.npu import settings as _settings

__all__ = ["aclnn", "config", "conv", "is_jit_compile_false", "matmul", "set_compile_mode", "set_option"]

config = _settings.config
matmul = _settings.matmul
conv = _settings.conv


class _Aclnn:
    """`torch.npu.aclnn`: the switch of convolutions by an older name."""

    @property
    def allow_hf32(self) -> bool:
        """That of `torch.npu.conv`."""
        return conv.allow_hf32

    @allow_hf32.setter
    def allow_hf32(self, allow: bool) -> None:
        conv.allow_hf32 = allow

    @contextlib.contextmanager
    def flags(self, allow_hf32: bool = True) -> Iterator[None]:
        """A context in which the switch has a value."""
        before, conv.allow_hf32 = conv.allow_hf32, allow_hf32
        try:
            yield
        finally:
            conv.allow_hf32 = before

    def version(self) -> None:
        """None: ACLNN's operators have no version of their own."""


aclnn = _Aclnn()
_options: dict = {}
# The values that options of CANN's operators can have; the others take any.
_VALUES = {
    "ACL_OP_COMPILER_CACHE_MODE": ("enable", "disable", "force"),
    "ACL_OP_DEBUG_LEVEL": ("0", "1", "2", "3", "4"),
    "ACL_OP_SELECT_IMPL_MODE": ("high_precision", "high_performance"),
    "ACL_PRECISION_MODE": ("allow_fp32_to_fp16", "must_keep_origin_dtype"),
}
_OTHERS = {
    "ACL_AICORE_NUM", "ACL_DEBUG_DIR", "ACL_OPTYPELIST_FOR_IMPLMODE", "ACL_OP_COMPILER_CACHE_DIR", "ACL_OP_DEBUG_OPTION",
    "ALLOW_CONV_HF32", "ALLOW_INTERNAL_FORMAT", "ALLOW_MATMUL_HF32", "CONV_HF32", "FORCE_ACLNN_OP_LIST", "MM_BMM_ND_ENABLE", "deviceId", "jitCompile",
    "jitCompileInit", "mdldumpconfigpath", "mdldumpswitch", "optypelist_for_implmode", "autotune", "autotunegraphdumppath",
}  # fmt: skip


def set_compile_mode(jit_compile: bool = False) -> None:
    """Whether operators may be compiled when they are called: here they never are, and True, without effect, is a warning.

    >>> torch.npu.set_compile_mode(jit_compile=False)
    """
    if jit_compile:
        warnings.warn(
            "set_compile_mode(): jit_compile=True has no effect: the operators called are those of ACLNN, which are compiled already",
            stacklevel=2,
        )


def is_jit_compile_false() -> bool:
    """Whether operators are taken as they are, not compiled when they are called: True."""
    return True


def set_option(option: dict[str, Any]) -> None:
    """Keep options, a dictionary of names and values.

    Raises:
        TypeError: it is no dictionary.
        ValueError: an option has a value that it cannot have.
        RuntimeError: there is no option of a name.
    """
    if not isinstance(option, dict):
        raise TypeError(f"npu option must be a dict, not {type(option).__name__}")
    for name, value in option.items():
        if name not in _VALUES and name not in _OTHERS:
            raise RuntimeError(f"invalid npu option name:{name}; known are {', '.join(sorted({*_VALUES, *_OTHERS}))}")
        allowed = _VALUES.get(name)
        if allowed is not None and str(value) not in allowed:
            raise ValueError(f"value of {name} should be in {list(allowed)} but got {value}")
        if name == "ACL_AICORE_NUM" and not str(value).isdecimal():
            raise ValueError(f"npu option ACL_AICORE_NUM must be a whole number, but it is {value!r}")
    if option.get("jitCompile", "disable") != "disable":
        set_compile_mode(True)
    _options.update(option)
