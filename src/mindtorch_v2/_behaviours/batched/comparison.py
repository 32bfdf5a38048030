"""Rules of vmap for the family comparison: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ._call import Batch, rule


@rule("allclose")
def _allclose(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
        "need this feature."
    )


@rule("equal", "is_nonzero")
def _equal(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
        "please file an issue at https://github.com/pytorch/pytorch/issues ."
    )
