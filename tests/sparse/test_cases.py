"""Sparse tensors against what PyTorch 2.13 answered: results as they print, errors, gradients of both orders, training."""

import json
import math
from pathlib import Path

import pytest
import sparse_cases

RECORDED = json.loads((Path(__file__).parents[1] / "snapshots" / "sparse" / "cases.json").read_text())


def _same(found, expected):
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and set(found) == set(expected)
            and all(_same(found[key], value) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(_same, found, expected))
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12) or (found != found and expected != expected)
    return found == expected


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(sparse_cases.outcomes()))


@pytest.mark.parametrize("name", RECORDED)
def test_case(found, name):
    assert _same(found[name], RECORDED[name]), f"{found[name]}\nexpected {RECORDED[name]}"


def test_every_case_is_recorded(found):
    assert set(found) == set(RECORDED)
