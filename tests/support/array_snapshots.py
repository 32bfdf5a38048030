"""Snapshots of tensors as `.npz` files in tests/snapshots/data, made once from PyTorch.

PYTHONPATH=src /path/with/pytorch/python -m pytest --reference tests/snapshots makes those that are missing.
"""

import pathlib
from typing import Any

import numpy as np
import reference

_DATA = pathlib.Path(__file__).parents[1] / "snapshots" / "data"


def assert_matches_snapshot(result: Any, name: str, tolerance: float = 1e-6) -> None:
    """Whether a tensor, or each of several, is what the snapshot `name` has: values, shapes and dtypes."""
    results = result if isinstance(result, (list, tuple)) else [result]
    arrays = {f"result_{number}": each.detach().numpy() for number, each in enumerate(results)}
    path = _DATA / f"{name}.npz"
    if not path.exists():
        assert reference.is_reference(), f"there is no snapshot {path.name}: pytest --reference makes it from PyTorch"
        np.savez(path, **arrays)
    with np.load(path) as expected:
        assert sorted(expected) == sorted(arrays)
        for key, array in arrays.items():
            assert (array.dtype, array.shape) == (expected[key].dtype, expected[key].shape)
            np.testing.assert_allclose(array, expected[key], rtol=tolerance, atol=tolerance)
