"""Batches copied to the device ahead of their use."""

from __future__ import annotations

from collections.abc import Iterable

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

__all__ = ["Prefetcher"]


class Prefetcher:
    """Pairs (input, target) of a loader, the next of which is copied to the device on `stream` meanwhile."""

    def __init__(self, loader: Iterable, stream: torch.npu.Stream | None = None) -> None:
        self.loader = iter(loader)
        self.stream = stream or torch.npu.Stream()
        self.next_input: Tensor | None = None
        self.next_target: Tensor | None = None
        self.preload()

    def preload(self) -> None:
        """Begin to copy the next pair; None twice where there is no more."""
        found = next(self.loader, None)
        if found is None:
            self.next_input = self.next_target = None
            return
        with torch.npu.stream(self.stream):
            self.next_input, self.next_target = (each.npu(non_blocking=True) for each in found)

    def next(self) -> tuple[Tensor | None, Tensor | None]:
        """The pair that was copied, safe for the current stream; the next is begun."""
        current = torch.npu.current_stream()
        current.wait_stream(self.stream)
        made = self.next_input, self.next_target
        for each in made:
            if each is not None:
                each.record_stream(current)
        if made[0] is not None:
            self.preload()
        return made
