"""Tensors put together by size. The expected buckets are those of PyTorch 2.13."""

from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist

_assigned: Any = dist._compute_bucket_assignment_by_size


def _tensors(*numbers: int, double: tuple[int, ...] = ()) -> list[Any]:
    return [torch.empty(n, dtype=torch.float64 if i in double else torch.float32) for i, n in enumerate(numbers)]


@pytest.mark.parametrize(
    ("tensors", "arguments", "expected"),
    [
        (_tensors(100, 50, 25), ([400],), ([[0], [1, 2]], [400, 400])),
        (_tensors(2, 2, 2, 2, 2, 2, double=(1, 3, 5)), ([16, 24],), ([[0, 2], [1], [3, 5], [4]], [16, 16, 24, 24])),
        (_tensors(2, 2, 2, 2), ([8], [False, True, False, False]), ([[0], [1], [2], [3]], [8, 0, 8, 8])),
        (_tensors(10, 10, 10, 10), ([40, 80],), ([[0], [1, 2], [3]], [40, 80, 80])),
    ],
)
def test_buckets(tensors: list[Any], arguments: tuple, expected: tuple) -> None:
    assert _assigned(tensors, *arguments) == expected


def test_misuse_of_buckets() -> None:
    with pytest.raises(RuntimeError, match="tensors must not be empty"):
        _assigned([], [8])
    with pytest.raises(RuntimeError, match="tensor_indices must be empty or as long as tensors, 2, but has 1 entries"):
        _assigned(_tensors(1, 1), [8], [], [0])
