"""Sparse tensors against what PyTorch 2.13 answered: results as they print, errors, gradients of both orders, training."""

import json
import math
from pathlib import Path

import pytest
import sparse_cases

RECORDED = json.loads((Path(__file__).parents[1] / "snapshots" / "sparse" / "cases.json").read_text())
PROGRAMS = sparse_cases.programs()


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


@pytest.mark.parametrize("name", RECORDED)
def test_case(name):
    found = json.loads(json.dumps(PROGRAMS[name]()))
    assert _same(found, RECORDED[name]), f"{found}\nexpected {RECORDED[name]}"


def test_every_case_is_recorded():
    assert set(PROGRAMS) == set(RECORDED)
