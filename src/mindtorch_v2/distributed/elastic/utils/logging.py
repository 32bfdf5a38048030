"""Loggers of launchers and agents, whose level comes from the environment."""

from __future__ import annotations

import logging
import os
import sys

__all__ = ["get_logger"]


def get_logger(name: str | None = None) -> logging.Logger:
    """Logger of a name, that of the calling module by default, at the level that LOGLEVEL says, or WARNING.

    >>> from mindtorch_v2.distributed.elastic.utils.logging import get_logger
    >>> get_logger("agent").name
    'agent'
    """
    logger = logging.getLogger(name or sys._getframe(1).f_globals.get("__name__"))
    logger.setLevel(os.environ.get("LOGLEVEL", "WARNING"))
    return logger
