"""Settings of CUDA's libraries, and which kernels `scaled_dot_product_attention` may choose."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mindtorch_v2 import _C
from mindtorch_v2._core import float32_products
from mindtorch_v2._core.warn_once import warn_of_caller
from mindtorch_v2.backends._settings import Settings

if TYPE_CHECKING:
    import mindtorch_v2 as torch

__all__ = [
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_built",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]

_FP32 = ("ieee", "none", "tf32")


class _Products(Settings):
    """The settings of products; those of float32 are the one of `torch.set_float32_matmul_precision`."""

    @property
    def allow_tf32(self) -> bool:
        """Whether the factors of float32 products may be shortened to TF32."""
        return float32_products.may_be_shortened()

    @allow_tf32.setter
    def allow_tf32(self, allowed: bool) -> None:
        float32_products.set("high" if allowed else "highest")

    @property
    def fp32_precision(self) -> str:
        """The same as a word, "tf32" or "ieee"; "none" is taken for the latter."""
        return "tf32" if float32_products.may_be_shortened() else self._word

    @fp32_precision.setter
    def fp32_precision(self, word: str) -> None:
        if word not in _FP32:
            raise RuntimeError(f"fp32_precision has to be one of {', '.join(_FP32)}, but it is {word!r}")
        self._word = "none" if word == "tf32" else word
        self.allow_tf32 = word == "tf32"


matmul = _Products(
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    _word="none",
)
_attention = Settings(mem_efficient=True, cudnn=True)


def is_built() -> bool:
    """Whether this was built for CUDA: False.

    >>> torch.backends.cuda.is_built()
    False
    """
    return False


def is_flash_attention_available() -> bool:
    """Whether CUDA's flash attention can be used: False.

    >>> torch.backends.cuda.is_flash_attention_available()
    False
    """
    return False


class SDPAParams:
    """The arguments of a call of attention, to ask which kernels could compute it.

    >>> q = torch.ones(1, 2, 3, 8)
    >>> params = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, True, False)
    >>> params.is_causal
    True
    """

    def __init__(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None,
        dropout: float,
        is_causal: bool,
        enable_gqa: bool,
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether CUDA's flash attention can compute a call: False.

    >>> q = torch.ones(1, 2, 3, 8)
    >>> torch.backends.cuda.can_use_flash_attention(torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False))
    False
    """
    return False


def can_use_efficient_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether CUDA's memory-efficient attention can compute a call: False.

    >>> q = torch.ones(1, 2, 3, 8)
    >>> torch.backends.cuda.can_use_efficient_attention(torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False))
    False
    """
    return False


def can_use_cudnn_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Whether cuDNN's attention can compute a call: False.

    >>> q = torch.ones(1, 2, 3, 8)
    >>> torch.backends.cuda.can_use_cudnn_attention(torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False))
    False
    """
    return False


def is_ck_sdpa_available() -> bool:
    """Whether attention may come from ROCm's composable kernels: False.

    >>> torch.backends.cuda.is_ck_sdpa_available()
    False
    """
    return False


def flash_sdp_enabled() -> bool:
    """Whether attention may take the fused kernel.

    >>> torch.backends.cuda.flash_sdp_enabled()
    True
    """
    return _C._get_flash_sdp_enabled()


def enable_flash_sdp(enabled: bool) -> None:
    """Let attention take the fused kernel, or not.

    >>> torch.backends.cuda.enable_flash_sdp(False)
    >>> torch.backends.cuda.flash_sdp_enabled()
    False
    >>> torch.backends.cuda.enable_flash_sdp(True)
    """
    _C._set_sdp_use_flash(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be composed of plain operators.

    >>> torch.backends.cuda.math_sdp_enabled()
    True
    """
    return _C._get_math_sdp_enabled()


def enable_math_sdp(enabled: bool) -> None:
    """Let attention be composed of plain operators, or not.

    >>> torch.backends.cuda.enable_math_sdp(False)
    >>> torch.backends.cuda.math_sdp_enabled()
    False
    >>> torch.backends.cuda.enable_math_sdp(True)
    """
    _C._set_sdp_use_math(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may take the memory-efficient kernel.

    >>> torch.backends.cuda.mem_efficient_sdp_enabled()
    True
    """
    return _attention.mem_efficient


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Let attention take the memory-efficient kernel, or not.

    >>> torch.backends.cuda.enable_mem_efficient_sdp(False)
    >>> torch.backends.cuda.mem_efficient_sdp_enabled()
    False
    >>> torch.backends.cuda.enable_mem_efficient_sdp(True)
    """
    _attention.mem_efficient = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether attention may take cuDNN's kernel.

    >>> torch.backends.cuda.cudnn_sdp_enabled()
    True
    """
    return _attention.cudnn


def enable_cudnn_sdp(enabled: bool) -> None:
    """Let attention take cuDNN's kernel, or not.

    >>> torch.backends.cuda.enable_cudnn_sdp(False)
    >>> torch.backends.cuda.cudnn_sdp_enabled()
    False
    >>> torch.backends.cuda.enable_cudnn_sdp(True)
    """
    _attention.cudnn = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether composed attention may add up in half precision.

    >>> torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    False
    """
    return _C._get_math_sdp_allow_fp16_bf16_reduction()


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Let composed attention add up in half precision, or not.

    >>> torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)
    >>> torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
    True
    >>> torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(False)
    """
    _C._set_math_sdp_allow_fp16_bf16_reduction(enabled)


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> contextlib.AbstractContextManager[dict]:
    """A context in which attention may take only the kernels that are enabled.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), torch.backends.cuda.sdp_kernel(enable_flash=False):
    ...     torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()
    (False, True)
    """
    warn_of_caller(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    return _only(enable_flash, enable_math, enable_mem_efficient, enable_cudnn)


@contextlib.contextmanager
def _only(enable_flash: bool, enable_math: bool, enable_mem_efficient: bool, enable_cudnn: bool) -> Iterator[dict]:
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


class _LinalgBackend(enum.IntEnum):
    """Libraries of linear algebra on CUDA devices."""

    Default, Cusolver, Magma = range(3)


class _BlasBackend(enum.IntEnum):
    """Libraries of matrix products on CUDA devices."""

    Cublas, Cublaslt, Ck = range(3)


class _ROCmFABackend(enum.IntEnum):
    """Implementations of flash attention on AMD's devices."""

    Default, AOTriton, Ck = range(3)


def _preferred(
    backend: object, choices: dict[str, enum.IntEnum], missing: dict[enum.IntEnum, str], default: enum.IntEnum
) -> enum.IntEnum:
    """The choice in force, which is always the default: no other is built in."""
    if backend is None:
        return default
    if isinstance(backend, str):
        if backend not in choices:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(choices)}.")
        backend = choices[backend]
    if not isinstance(backend, type(default)):
        raise RuntimeError("Unknown input value type.")
    if backend in missing:
        name = missing[backend]
        raise RuntimeError(f"Cannot set preferred backend to {name} if PyTorch has not been compiled with {name}.")
    return default


def preferred_linalg_library(backend: str | _LinalgBackend | None = None) -> _LinalgBackend:
    """The library that linear algebra on CUDA devices prefers: "default". Asking for one that is not built in raises
    RuntimeError, and none is.

    >>> int(torch.backends.cuda.preferred_linalg_library())
    0
    """
    kinds = _LinalgBackend
    choices: dict[str, enum.IntEnum] = {"default": kinds.Default, "cusolver": kinds.Cusolver, "magma": kinds.Magma}
    _preferred(backend, choices, {kinds.Cusolver: "cuSOLVER", kinds.Magma: "MAGMA"}, kinds.Default)
    return kinds.Default


def preferred_blas_library(backend: str | _BlasBackend | None = None) -> _BlasBackend:
    """The library that matrix products on CUDA devices prefer: cuBLAS, PyTorch's default. Asking for one that is not
    built in raises RuntimeError.

    >>> int(torch.backends.cuda.preferred_blas_library())
    0
    """
    kinds = _BlasBackend
    choices: dict[str, enum.IntEnum] = {"default": kinds.Cublas, "cublas": kinds.Cublas, "hipblas": kinds.Cublas}
    choices |= {"cublaslt": kinds.Cublaslt, "hipblaslt": kinds.Cublaslt, "ck": kinds.Ck}
    _preferred(backend, choices, {kinds.Cublaslt: "cuBLASLt", kinds.Ck: "Ck"}, kinds.Cublas)
    return kinds.Cublas


def preferred_rocm_fa_library(backend: str | _ROCmFABackend | None = None) -> _ROCmFABackend:
    """The flash attention that AMD's devices prefer: "default". Asking for one that is not built in raises RuntimeError.

    >>> int(torch.backends.cuda.preferred_rocm_fa_library())
    0
    """
    kinds = _ROCmFABackend
    choices: dict[str, enum.IntEnum] = {"default": kinds.Default, "aotriton": kinds.AOTriton, "ck": kinds.Ck}
    _preferred(backend, choices, {kinds.AOTriton: "AOTriton", kinds.Ck: "Ck"}, kinds.Default)
    return kinds.Default
