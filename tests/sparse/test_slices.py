"""Slices of `torch.vmap` with sparse matrices, against what PyTorch 2.13 answered."""

import json
from pathlib import Path

import pytest
import sparse_slices

RECORDED = json.loads((Path(__file__).parents[1] / "snapshots" / "sparse" / "slices.json").read_text())
PROGRAMS = sparse_slices.programs()


@pytest.mark.parametrize("name", RECORDED)
def test_slices(name):
    assert sparse_slices.outcome(PROGRAMS[name]) == RECORDED[name]


def test_all_slices_are_recorded():
    assert set(PROGRAMS) == set(RECORDED)
