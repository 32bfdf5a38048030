"""The programs of `sparse_cases` where tensors are made on a device, and what PyTorch answered on the CPU."""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import Any

import mindtorch_v2 as torch

_SNAPSHOT = pathlib.Path(__file__).parents[1] / "snapshots" / "sparse" / "cases.json"
RECORDED: dict[str, Any] = json.loads(_SNAPSHOT.read_text("utf-8"))


def cases(not_there: str) -> list[str]:
    """The names of the programs that a device has what they need for: `not_there` finds the others."""
    return [name for name in RECORDED if not re.search(not_there, name)]


def outcomes(device: str, not_there: str) -> dict[str, Any]:
    """Every program's outcome on a device, as JSON."""
    torch.set_default_device(device)
    try:
        import sparse_cases

        # An error of the device would appear in a later program.
        sparse_cases.EXPRESSIONS[:] = [t for t in sparse_cases.EXPRESSIONS if not re.search(not_there, t)]
        return json.loads(json.dumps(sparse_cases.outcomes()))
    finally:
        torch.set_default_device(None)


def same(found: Any, expected: Any, device: str, close: float = 1e-9) -> bool:
    """Whether an outcome is PyTorch's, but for the device that it names; numbers as far as `close`."""
    if isinstance(expected, dict):
        return set(found) == set(expected) and all(same(found[k], expected[k], device, close) for k in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(same(f, e, device, close) for f, e in zip(found, expected))
    if isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=close, abs_tol=1e-12) or (found != found and expected != expected)
    if isinstance(expected, str):  # lines are broken where there is no more room
        found = found.replace(f"torch.{device}.", "torch.").replace(
            f"from the '{device.upper()}' backend", "from the 'CPU' backend"
        )
        found = found.replace(f"device='{device}:0'", "")
        return _folded(found) == _folded(expected)
    return bool(found == expected)


def _folded(text: str) -> str:
    return re.sub(r",+", ",", re.sub(r"\s", "", text)).replace(",)", ")")
