"""Faults of operators on some SoCs and versions of CANN, as data, and what is called in their place.

A row says where an operator must not be used as the interface describes it: `operator`, `soc` and `cann` (patterns; CANN's
version as ACL states it), `symptom` in words, and `replacement`, a function with the operator's own parameters. Rows apply when an operator
is first called. `python -m mindtorch_v2.npu doctor` names those that apply to a host.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Quirk:
    """One fault, and the way around it. `source` says who reported it."""

    operator: str
    soc: str
    cann: str
    symptom: str
    replacement: Callable[..., None]
    source: str


# No row is here that nobody has seen: what is written comes from reports of users or from runs on hardware, of which there are none
# yet.
QUIRKS: list[Quirk] = []


def applying(soc: str, version: tuple[int, int, int]) -> dict[str, Quirk]:
    """The rows for a SoC and a version, by operator. Of several rows for one operator the last decides."""
    named = ".".join(map(str, version))
    return {
        quirk.operator: quirk
        for quirk in QUIRKS
        if fnmatch.fnmatchcase(soc, quirk.soc) and fnmatch.fnmatchcase(named, quirk.cann)
    }
