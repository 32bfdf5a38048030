"""Answers of PyTorch as a JSON file has them, compared with ours."""

import math
from typing import Any


def same_answer(found: Any, expected: Any) -> None:
    """Assert that two answers are the same: floats to 1e-5 relative, all else exactly, in lists and dicts too."""
    if isinstance(expected, float):
        assert math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-6) or (math.isnan(found) and math.isnan(expected))
    elif isinstance(expected, dict):
        assert set(found) == set(expected)
        for key in expected:
            same_answer(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same_answer(one, other)
    else:
        assert found == expected
