"""The processor as Linux describes it: features, caches, cores. Elsewhere nothing is known of it."""

from __future__ import annotations

import functools
import os
import pathlib
import re
from typing import Any

__all__ = ["capabilities", "flags"]

# PyTorch's names of features of x86-64, and Linux's where they differ.
_FEATURES = """
sse sse2 sse3=pni ssse3 sse4_1 sse4_2 sse4a avx avx2 avx_vnni avx_vnni_int8 avx_vnni_int16 avx_ne_convert
avx10_1 avx10_2 avx512_f=avx512f avx512_cd=avx512cd avx512_dq=avx512dq avx512_bw=avx512bw avx512_vl=avx512vl
avx512_ifma=avx512ifma avx512_vbmi=avx512vbmi avx512_vbmi2 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_bf16 avx512_fp16
avx512_vp2intersect avx512_4vnniw avx512_4fmaps amx_bf16 amx_tile amx_int8 amx_fp16 fma3=fma fma4 f16c aes sha=sha_ni
bmi=bmi1 bmi2 popcnt lzcnt=abm clflush clflushopt clwb
"""


@functools.cache
def _description() -> list[dict[str, str]]:
    """The lines of /proc/cpuinfo of each logical core."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    cores = [
        {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in part.splitlines())}
        for part in text.split("\n\n")
    ]
    return [core for core in cores if "processor" in core]


@functools.cache
def flags() -> frozenset[str]:
    """The features, under Linux's names."""
    return frozenset(_description()[0].get("flags", "").split()) if _description() else frozenset()


def _cache_bytes(level: int, kinds: tuple[str, ...]) -> int:
    for folder in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            told = [(folder / name).read_text().strip() for name in ("level", "type", "size")]
        except OSError:
            continue
        if told[0] == str(level) and told[1] in kinds and told[2].endswith("K"):
            return int(told[2][:-1]) * 1024
    return 0


def _name(text: str) -> str:
    """The model without trade marks, clock rates and words that name nothing."""
    text = re.sub(r"\((R|TM|r|tm)\)|@.*|\b\d+-Core\b|\b(CPU|Processor)\b", " ", text)
    return " ".join(text.split())


def capabilities() -> dict[str, Any]:
    """The dict of `torch.cpu.get_capabilities`."""
    machine = os.uname().machine if hasattr(os, "uname") else ""
    cores = _description()
    found: dict[str, Any] = {"architecture": machine}
    if machine == "x86_64":
        pairs = (each.partition("=") for each in _FEATURES.split())
        found.update((name, (linux or name) in flags()) for name, _, linux in pairs)
    sockets = {core.get("physical id", "0") for core in cores}
    physical = {(core.get("physical id", "0"), core.get("core id", core["processor"])) for core in cores}
    found.update(
        cpu_name=_name(cores[0].get("model name", "")) if cores else "",
        num_sockets=len(sockets) or 1,
        num_physical_cores=len(physical) or os.cpu_count() or 1,
        num_logical_cores=len(cores) or os.cpu_count() or 1,
        l1d_cache_size=_cache_bytes(1, ("Data", "Unified")),
        l2_cache_size=_cache_bytes(2, ("Unified", "Data")),
    )
    return found
