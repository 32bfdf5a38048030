"""Operators by which programs ask what oneDNN computes on this processor."""

from __future__ import annotations

from mindtorch_v2._core.processor import get_cpu_capability
from mindtorch_v2.cpu._processor import flags
from mindtorch_v2.library import Library

_library = Library("mkldnn", "FRAGMENT")
for _name in ("_is_mkldnn_acl_supported", "_is_mkldnn_bf16_supported", "_is_mkldnn_fp16_supported"):
    _library.define(f"{_name}() -> bool")

_library.impl("_is_mkldnn_acl_supported", lambda: False, "CompositeImplicitAutograd")  # Arm's library is not built in
# Its products in 16 bits want AVX-512's byte and word instructions.
_library.impl("_is_mkldnn_bf16_supported", lambda: get_cpu_capability() == "AVX512", "CompositeImplicitAutograd")


def _has_float16() -> bool:
    """Whether the processor computes with float16 itself, which oneDNN asks of it."""
    found = flags()
    return "avx512_fp16" in found or {"avx_ne_convert", "avx_vnni_int8"} <= found


_library.impl("_is_mkldnn_fp16_supported", _has_float16, "CompositeImplicitAutograd")
