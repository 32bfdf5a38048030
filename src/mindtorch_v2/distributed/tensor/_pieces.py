"""Whole tensors as pieces like others, and state dictionaries that are asked for pieces."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.sharded import Replicate
from mindtorch_v2.distributed.tensor._api import DTensor
from mindtorch_v2.distributed.tensor._dtensor_spec import DTensorSpec, meta_of
from mindtorch_v2.distributed.tensor._redistribute import redistribute_local

__all__ = ["lying_like", "state_in_pieces", "wants_pieces"]

_wanted = contextvars.ContextVar("state dictionaries in pieces", default=False)


@contextlib.contextmanager
def state_in_pieces() -> Iterator[None]:
    """Within this block wrappers give and take state dictionaries of distributed tensors, whatever they were told."""
    token = _wanted.set(True)
    try:
        yield
    finally:
        _wanted.reset(token)


def wants_pieces() -> bool:
    """Whether a block of `state_in_pieces` is open."""
    return _wanted.get()


def lying_like(present: Any, value: Any) -> Any:
    """A whole tensor, that every rank has, as pieces that lie as those of another one; anything else as it is."""
    if isinstance(present, DTensor) and isinstance(value, torch.Tensor) and not isinstance(value, DTensor):
        mesh = present.device_mesh
        whole = value.detach().to(present.device)
        spec = DTensorSpec(mesh, (Replicate(),) * mesh.ndim, meta_of(whole))
        local = redistribute_local(whole, spec, present.placements).clone()
        return DTensor(local, spec.with_placements(present.placements), requires_grad=False)
    return value
