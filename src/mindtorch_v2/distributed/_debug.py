"""How much is said about collectives and gradients: TORCH_DISTRIBUTED_DEBUG."""

from __future__ import annotations

import enum
import os

__all__ = ["DebugLevel", "get_debug_level", "set_debug_level", "set_debug_level_from_env"]


class DebugLevel(enum.IntEnum):
    """Levels. That ranks do the same is looked at on each; INFO and DETAIL name the parameters without gradients.

    >>> [(level.name, level.value) for level in torch.distributed.DebugLevel]
    [('OFF', 0), ('INFO', 1), ('DETAIL', 2)]
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def _from_env() -> DebugLevel:
    text = os.environ.get("TORCH_DISTRIBUTED_DEBUG", "OFF")
    try:
        return DebugLevel[text.upper()]
    except KeyError:
        raise ValueError(
            f"The value of TORCH_DISTRIBUTED_DEBUG must be OFF, INFO, or DETAIL, but is {text!r}"
        ) from None


_level: DebugLevel | None = None


def get_debug_level() -> DebugLevel:
    """The level: what was set, or what TORCH_DISTRIBUTED_DEBUG says. ValueError if that is no level.

    >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.INFO)
    >>> torch.distributed.get_debug_level().name
    'INFO'
    >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.OFF)
    """
    return _from_env() if _level is None else _level


def set_debug_level(level: DebugLevel) -> None:
    """Set the level of this process.

    >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.DETAIL)
    >>> torch.distributed.get_debug_level().name
    'DETAIL'
    >>> torch.distributed.set_debug_level(torch.distributed.DebugLevel.OFF)
    """
    global _level
    _level = DebugLevel(level)


def set_debug_level_from_env() -> None:
    """Set the level to what TORCH_DISTRIBUTED_DEBUG says now.

    >>> import os
    >>> os.environ["TORCH_DISTRIBUTED_DEBUG"] = "INFO"
    >>> torch.distributed.set_debug_level_from_env()
    >>> torch.distributed.get_debug_level().name
    'INFO'
    >>> del os.environ["TORCH_DISTRIBUTED_DEBUG"]
    >>> torch.distributed.set_debug_level_from_env()
    """
    set_debug_level(_from_env())
