"""OP_STATUS: per operator and device whether it is native, composite or missing; computed from the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .table import ROWS, Row

DEVICES = ("cpu", "meta", "npu")
_KEYS = {"cpu": "CPU", "meta": "Meta", "npu": "NPU"}


def status(row: Row) -> dict[str, str]:
    """Where the operator of ``row`` runs: {"cpu": "native", "meta": "native", "npu": "missing"}."""
    kernels = row.handle.kernels()
    composite = row.body is not None
    result = {}
    for device in DEVICES:
        key = _KEYS[device]
        if key in kernels:
            result[device] = "native"
        elif composite or "CompositeImplicitAutograd" in kernels:
            result[device] = "composite"
        else:
            result[device] = "native" if row.handle.has_kernel(key) else "missing"
    return result


class _Status(Mapping):
    """Read from the registry at each look, so that it cannot go stale."""

    def __getitem__(self, name: str) -> dict[str, str]:
        return status(ROWS[name])

    def __iter__(self) -> Iterator[str]:
        return iter(ROWS)

    def __len__(self) -> int:
        return len(ROWS)


OP_STATUS: Mapping[str, dict[str, str]] = _Status()
