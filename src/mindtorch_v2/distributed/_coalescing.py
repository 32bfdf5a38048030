"""Collectives that are waited for together, by PyTorch's name for it: megatron and others import `_coalescing_manager`.

PyTorch joins them into one operation where the back end can. Here each goes its own way at once; what is the same is when their
results are there.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mindtorch_v2.distributed._group import ProcessGroup
    from mindtorch_v2.distributed._work import Work

__all__ = ["_coalescing_manager", "_CoalescingManager", "note"]


class _CoalescingManager:
    """The works of one block; `wait` waits for them all."""

    def __init__(self) -> None:
        self.works: list[Work] = []

    def append(self, work: Work | None) -> None:
        """Wait for one more."""
        if work is not None:
            self.works.append(work)

    def wait(self) -> None:
        """Wait until all are done."""
        for work in self.works:
            work.wait()


class _Open(threading.local):
    managers: tuple[_CoalescingManager, ...] = ()


_open = _Open()


def note(work: Work) -> None:
    """A collective of this thread was started that nobody has waited for: the innermost block does."""
    if _open.managers:
        _open.managers[-1].append(work)


@contextlib.contextmanager
def _coalescing_manager(
    group: ProcessGroup | None = None, device: Any = None, async_ops: bool | None = False
) -> Iterator[_CoalescingManager]:
    """A block whose collectives are done behind it; with `async_ops` once `wait` of what it gives returned.

    Args:
        group, device: taken as PyTorch takes them; each collective names its own.
    """
    manager = _CoalescingManager()
    before = _open.managers
    _open.managers = (*before, manager)
    try:
        yield manager
    finally:
        _open.managers = before
    if not async_ops:
        manager.wait()
