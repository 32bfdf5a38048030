"""Calls of functions on other processes, which do not begin here: no agent is ever started."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Never


def _is_current_rpc_agent_set() -> bool:
    """Whether an agent runs: False."""
    return False


def _require_initialized(func: Callable[..., Any]) -> Callable[..., Never]:
    """A function that raises, since no agent runs."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Never:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")

    return wrapper
