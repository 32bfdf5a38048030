"""Questions about the installation."""

from . import collect_env

__all__ = ["collect_env"]
