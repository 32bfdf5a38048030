"""Tensors put together by dtype, device and size, as gradients are that are sent together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = ["_compute_bucket_assignment_by_size"]


def _compute_bucket_assignment_by_size(
    tensors: Sequence[torch.Tensor],
    bucket_size: Sequence[int],
    expect_sparse_gradient: Sequence[bool] = (),
    tensor_indices: Sequence[int] = (),
    logger: Any = None,
) -> tuple[list[list[int]], list[int]]:
    """The buckets as lists of indices, and the limit in bytes that each was filled to.

    A bucket is full when it holds its limit; those of one dtype and device go through the limits in turn, and stay at the last.
    A tensor whose gradient is sparse has a bucket for itself, with the limit 0. `tensor_indices` are the indices to give, in the
    order of the tensors; without them buckets come in the order of their first tensors, with them as they are filled.

    Raises:
        RuntimeError: there is no tensor, or as many sparse marks or indices as tensors neither.
    """
    if not tensors:
        raise RuntimeError("_compute_bucket_assignment_by_size(): tensors must not be empty")
    for name, given in (("expect_sparse_gradient", expect_sparse_gradient), ("tensor_indices", tensor_indices)):
        if given and len(given) != len(tensors):
            raise RuntimeError(
                f"_compute_bucket_assignment_by_size(): {name} must be empty or as long as tensors, {len(tensors)}, but has "
                f"{len(given)} entries"
            )
    made: list[tuple[list[int], int]] = []
    filling: dict[Any, tuple[list[int], int]] = {}  # kind -> indices so far and their bytes
    turns: dict[Any, int] = {}  # kind -> which limit
    for i, tensor in enumerate(tensors):
        index = tensor_indices[i] if tensor_indices else i
        if expect_sparse_gradient and expect_sparse_gradient[i]:
            made.append(([index], 0))
            continue
        kind = tensor.dtype, tensor.device
        indices, nbytes = filling.get(kind, ([], 0))
        indices, nbytes = [*indices, index], nbytes + tensor.numel() * tensor.element_size()
        limit = bucket_size[turns.setdefault(kind, 0)]
        if nbytes >= limit:
            made.append((indices, limit))
            filling.pop(kind, None)
            turns[kind] = min(turns[kind] + 1, len(bucket_size) - 1)
        else:
            filling[kind] = indices, nbytes
    made += [(indices, bucket_size[turns[kind]]) for kind, (indices, _) in filling.items()]
    if not tensor_indices:
        made.sort(key=lambda bucket: min(bucket[0]))
    return [indices for indices, _ in made], [limit for _, limit in made]
