"""Settings of CUDA's libraries, and which kernels `scaled_dot_product_attention` may choose."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mindtorch_v2 import _C
from mindtorch_v2.backends._settings import Settings

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]

matmul = Settings(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
_attention = Settings(mem_efficient=True, cudnn=True, fp16_bf16_reduction_math=False)


def is_built() -> bool:
    """Whether this was built for CUDA: False."""
    return False


def is_flash_attention_available() -> bool:
    """Whether CUDA's flash attention can be used: False."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may take the fused kernel."""
    return _C._get_flash_sdp_enabled()


def enable_flash_sdp(enabled: bool) -> None:
    """Let attention take the fused kernel, or not."""
    _C._set_sdp_use_flash(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be composed of plain operators."""
    return _C._get_math_sdp_enabled()


def enable_math_sdp(enabled: bool) -> None:
    """Let attention be composed of plain operators, or not."""
    _C._set_sdp_use_math(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may take the memory-efficient kernel."""
    return _attention.mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Let attention take the memory-efficient kernel, or not."""
    _attention.mem_efficient = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention may take cuDNN's kernel."""
    return _attention.cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Let attention take cuDNN's kernel, or not."""
    _attention.cudnn = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether composed attention may add up in half precision."""
    return _attention.fp16_bf16_reduction_math


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Let composed attention add up in half precision, or not."""
    _attention.fp16_bf16_reduction_math = bool(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict]:
    """A context in which attention may take only the kernels that are enabled."""
    before = (flash_sdp_enabled(), math_sdp_enabled(), mem_efficient_sdp_enabled(), cudnn_sdp_enabled())
    enable_flash_sdp(enable_flash)
    enable_math_sdp(enable_math)
    enable_mem_efficient_sdp(enable_mem_efficient)
    enable_cudnn_sdp(enable_cudnn)
    try:
        yield {}
    finally:
        enable_flash_sdp(before[0])
        enable_math_sdp(before[1])
        enable_mem_efficient_sdp(before[2])
        enable_cudnn_sdp(before[3])
