"""Devices of other processes, by words."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__: list[str] = []


class _remote_device:
    """A device of a process: "rank:1/cuda:0", "trainer0/cpu" (a worker of RPC), or "cuda:0" alone; ValueError for other words."""

    def __init__(self, remote_device: str | torch.device) -> None:
        self._worker_name: str | None = None
        self._rank: int | None = None
        worker, slash, device = str(remote_device).partition("/")
        if not slash:
            # A device alone, or a worker alone, whose device is its CPU.
            if isinstance(remote_device, torch.device) or _is_device(worker):
                worker, device = "", worker
            else:
                device = "cpu"
        if "/" in device or (slash and not (worker and device)):
            raise ValueError(
                f"Could not parse remote_device: {remote_device}. The valid format is '<workername>/<device>'"
            )
        if worker.startswith("rank:"):
            if not worker[5:].isdigit():
                raise ValueError(f"Could not parse remote_device: {remote_device}. A rank is 'rank:<number>'")
            self._rank = int(worker[5:])
        elif worker:
            self._worker_name = worker
        self._device = torch.device(device)

    def worker_name(self) -> str | None:
        """The worker's name; None where a rank is said."""
        return self._worker_name

    def rank(self) -> int | None:
        """The process' number; None where a name is said."""
        return self._rank

    def device(self) -> torch.device:
        """The device there."""
        return self._device

    def __repr__(self) -> str:
        worker = self._worker_name if self._rank is None else f"rank:{self._rank}"
        return str(self._device) if worker is None else f"{worker}/{self._device}"

    def _key(self) -> tuple[str | None, int | None, torch.device]:
        return self._worker_name, self._rank, self._device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _remote_device) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _is_device(words: str) -> bool:
    try:
        torch.device(words)
    except RuntimeError:
        return False
    return True
