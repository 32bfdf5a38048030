"""Compiled code that is taken from one process to another: there is none, for graphs are made anew in each process."""

from __future__ import annotations

import collections
import dataclasses

__all__ = ["CacheInfo", "load_cache_artifacts", "save_cache_artifacts"]


@dataclasses.dataclass
class CacheInfo:
    """Keys of what was saved or loaded, by kind.

    >>> torch.compiler.CacheInfo().empty()
    True
    """

    artifacts: collections.defaultdict[str, list[str]] = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list)
    )

    def clear(self) -> None:
        """Forget the keys."""
        self.artifacts.clear()

    def empty(self) -> bool:
        """Whether nothing was saved or loaded."""
        return not self.artifacts


def save_cache_artifacts() -> tuple[bytes, CacheInfo] | None:
    """Compiled code as bytes, for `load_cache_artifacts`; None where there is none to save, which is always so here.

    >>> torch.compiler.save_cache_artifacts() is None
    True
    """
    return None


def load_cache_artifacts(serialized_artifacts: bytes) -> CacheInfo | None:
    """Take over compiled code of another process; None if the bytes hold none that can be used, which is always so here.

    >>> torch.compiler.load_cache_artifacts(b"") is None
    True
    """
    return None
