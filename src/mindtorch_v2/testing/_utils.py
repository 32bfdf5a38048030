"""Random numbers that a test leaves as it found them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import mindtorch_v2 as torch

__all__ = ["freeze_rng_state", "wrapper_set_seed"]


@contextlib.contextmanager
def freeze_rng_state() -> Iterator[None]:
    """Within it random numbers are drawn as usual; behind it the generator stands where it stood before."""
    state = torch.get_rng_state()
    try:
        yield
    finally:
        torch.set_rng_state(state)


def wrapper_set_seed(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function's result under the seed 42, with the generator left as it was."""
    with freeze_rng_state():
        torch.manual_seed(42)
        return op(*args, **kwargs)
