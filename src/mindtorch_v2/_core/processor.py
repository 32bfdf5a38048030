"""The abilities of the processor."""

from __future__ import annotations

import functools


@functools.cache
def get_cpu_capability() -> str:
    """The widest vector instructions that this system has: "AVX512", "AVX2", "NEON" or "DEFAULT".

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "SVE", "DEFAULT")
    True
    """
    try:
        with open("/proc/cpuinfo") as file:
            words = set(file.read().split())
    except OSError:
        return "DEFAULT"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= words:
        return "AVX512"
    if {"avx2", "fma"} <= words:
        return "AVX2"
    return "NEON" if "asimd" in words else "DEFAULT"
