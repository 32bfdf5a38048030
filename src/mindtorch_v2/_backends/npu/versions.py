"""Which torch_npu goes with which PyTorch and which CANN, as its project states it, and what this host has of the three.

The statement: Ascend/pytorch, COMPATIBILITY.en.md, August 2026. docs/npu-versions.md shows the same table.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from . import libraries


class Release(NamedTuple):
    """One release of torch_npu."""

    torch_npu: str
    pytorch: str
    cann: str


RELEASES = tuple(
    Release(torch_npu, ".".join(re.findall(r"\d+", torch_npu)[:3]), cann)
    for cann, names in {
        "9.1.0": "2.12.0 2.11.0 2.10.0.post4 2.9.0.post6 2.7.1.post8",
        "9.0.0": "2.9.0.post2 2.8.0.post4 2.7.1.post4",
        "8.5.0": "2.9.0 2.8.0.post2 2.7.1.post2 2.6.0.post5",
        "8.3.RC1": "2.8.0 2.7.1 2.6.0.post3 2.1.0.post17",
        "8.2.RC1": "2.6.0 2.5.1.post1 2.1.0.post13",
        "8.1.RC1": "2.5.1 2.4.0.post4 2.3.1.post6 2.1.0.post12",
        "8.0.0": "2.4.0.post2 2.3.1.post4 2.1.0.post10",
    }.items()
    for torch_npu in names.split()
)


def same(one: str, other: str) -> bool:
    """Whether two names stand for one version of CANN: 8.3.RC1 is also written 8.3.rc1 and 8.3.RC1.alpha001."""
    parts = [re.split(r"[.\-_]", name.lower()) for name in (one, other)]
    length = min(3, *map(len, parts))
    return parts[0][:length] == parts[1][:length]


def order(name: str) -> tuple[int, ...]:
    """A version of CANN as numbers to compare: 8.3.RC1 comes before 8.3.0, and 8.3.RC1.alpha001 before 8.3.RC1."""
    parts = re.split(r"[.\-_]", name.lower())
    found = [int(each) for each in parts[:2] if each.isdecimal()]
    third = re.fullmatch(r"(rc|t)?(\d+)", parts[2]) if len(parts) > 2 else None
    if len(found) < 2 or (len(parts) > 2 and third is None):
        raise ValueError(f"{name!r} is no version of CANN; they are written 8.3.RC1 or 9.0.0")
    final = third is None or third.group(1) is None
    return *found, int(final), int(third.group(2)) if third else 0, -int(any("a" in part for part in parts[3:]))


def of_installed(homes: Iterable[str]) -> str | None:
    """The version of the first toolkit whose files tell one."""
    return next((found for found in map(of_cann, homes) if found is not None), None)


def of_cann(home: str) -> str | None:
    """The version that the files of a toolkit tell; None if none does."""
    for folder in ("", "opp", "compiler", "runtime", "aarch64-linux", "x86_64-linux"):
        place = os.path.join(home, folder)
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        for name in names:
            if name in ("version.info", "version.cfg") or re.fullmatch(r"ascend_\w+_install\.info", name):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as file:
                    found = re.search(
                        r"^\s*(?:\w*running_)?version\s*=\s*\[?([^\s\]:,]+(?::[^\s\],]+)?)", file.read(), re.I | re.M
                    )
                if found:
                    return found.group(1).rpartition(":")[2]
    return None


def installed(distribution: str) -> str | None:
    """The version of a distribution that pip installed; None without one."""
    for found in importlib.metadata.distributions(name=distribution):
        if found.read_text("INSTALLER") != "mindtorch_v2\n":  # our own stand-in for torch
            return found.version
    return None


def report(cann: str | None, torch_npu: str | None, pytorch: str | None) -> list[str]:
    """Sentences on what is here and does not fit, and on what would."""
    lines = [f"CANN: {cann or 'its files tell no version'}"]
    fitting = [release.torch_npu for release in RELEASES if cann is not None and same(cann, release.cann)]
    if fitting:
        lines.append(f"torch_npu for it: {', '.join(fitting)} (this package needs none)")
    elif cann is not None:
        known = ", ".join(dict.fromkeys(release.cann for release in RELEASES))
        lines.append(f"CANN {cann} is in no statement of torch_npu's that is known here; those are of {known}")
    if torch_npu is None:
        return lines
    plain = torch_npu.partition("+")[0]
    lines.append(f"torch_npu {torch_npu} is installed beside this package, which does not use it")
    release = next((each for each in RELEASES if each.torch_npu == plain), None)
    if release is None:
        lines.append(f"torch_npu {torch_npu} is of no release that is known here")
        return lines
    if cann is not None and not same(cann, release.cann):
        lines.append(f"it does not fit: torch_npu {torch_npu} is for CANN {release.cann}, here is {cann}")
    if pytorch is None:
        lines.append(f"it cannot be imported: torch_npu {torch_npu} needs PyTorch {release.pytorch}, and there is none")
    elif pytorch.partition("+")[0] != release.pytorch:
        lines.append(f"it does not fit: torch_npu {torch_npu} is for PyTorch {release.pytorch}, here is {pytorch}")
    return lines


def of_this_host() -> list[str]:
    """`report` of what is installed here."""
    return report(of_installed(libraries.roots()), installed("torch-npu"), installed("torch"))


def table() -> str:
    """The releases as a table, newest CANN first."""
    lines = ["| CANN | PyTorch | torch_npu |", "|---|---|---|"]
    lines += [f"| {release.cann} | {release.pytorch} | {release.torch_npu} |" for release in RELEASES]
    return "\n".join(lines) + "\n"
