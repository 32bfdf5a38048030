"""`torch.backends`: which libraries compute, and how precisely they may. Settings are kept; those of absent libraries
have nothing to act on.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from mindtorch_v2.backends import (
    cpu,
    cuda,
    cudnn,
    mha,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    python_native,
    quantized,
    xnnpack,
)
from mindtorch_v2.backends._settings import contextual

__all__ = [
    "cpu",
    "cuda",
    "cudnn",
    "disable_global_flags",
    "flags",
    "fp32_precision",
    "mha",
    "mkl",
    "mkldnn",
    "mps",
    "nnpack",
    "openmp",
    "opt_einsum",
    "python_native",
    "quantized",
    "set_flags",
    "xnnpack",
]

fp32_precision = "none"


def set_flags(_fp32_precision: str = "none") -> tuple:
    """Set how float32 products may be rounded; returns the earlier setting as a 1-tuple."""
    global fp32_precision
    before = (fp32_precision,)
    fp32_precision = _fp32_precision
    return before


flags = contextual(set_flags)


def disable_global_flags() -> None:
    """Declare that settings change within `flags` only, as PyTorch's test suites do. Others are not refused here."""


def __getattr__(name: str) -> ModuleType:
    if name == "mindspore":  # a plug-in, loaded when it is asked for
        return importlib.import_module("mindtorch_v2.backends.mindspore")
    raise AttributeError(f"module 'torch.backends' has no attribute {name!r}")
