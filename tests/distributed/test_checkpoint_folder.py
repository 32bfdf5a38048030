"""A distributed checkpoint that is written over: the old one is whole until the new one is."""

import os
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.distributed import checkpoint
from mindtorch_v2.distributed.checkpoint.api import CheckpointException


def _state(value: float) -> dict[str, Any]:
    return {"x": torch.full((3,), value), "number": value}


def _save(folder: Path, value: float) -> None:
    checkpoint.save(_state(value), checkpoint_id=folder, no_dist=True)


def _load(folder: Path) -> tuple[float, float]:
    state = _state(-1.0)
    checkpoint.load(state, checkpoint_id=folder, no_dist=True)
    return state["number"], state["x"].sum().item()


def test_the_new_one_replaces_the_old_one(tmp_path: Path) -> None:
    for value in (1.0, 2.0, 3.0):
        _save(tmp_path, value)
        assert _load(tmp_path) == (value, 3 * value)
        assert len(os.listdir(tmp_path)) == 2
    assert sorted(os.listdir(tmp_path)) == [".metadata", "__0_0.distcp"]


class _Stops(checkpoint.FileSystemWriter):
    """A save that ends after its data, before it is a checkpoint."""

    def finish(self, metadata: Any, results: Any) -> None:
        raise OSError("no space left")


def test_a_save_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    _save(tmp_path, 1.0)
    with pytest.raises(CheckpointException, match="no space left"):
        checkpoint.save(_state(2.0), storage_writer=_Stops(tmp_path), no_dist=True)
    assert _load(tmp_path) == (1.0, 3.0)
    _save(tmp_path, 3.0)
    assert _load(tmp_path) == (3.0, 9.0)
    assert len(os.listdir(tmp_path)) == 2, "what the failed save wrote is removed by the next one"


def test_other_files_of_the_folder_stay(tmp_path: Path) -> None:
    kept = ["notes.txt", "model.distcp", "__0_0.safetensors"]
    for name in kept:
        (tmp_path / name).write_text("mine")
    _save(tmp_path, 1.0)
    _save(tmp_path, 2.0)
    assert set(kept) < set(os.listdir(tmp_path))


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_pytorch_reads_one_that_was_written_over(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--live"):
        pytest.skip("needs the real PyTorch: --live")
    _save(tmp_path, 1.0)
    _save(tmp_path, 2.0)
    assert not (tmp_path / "__0_0.distcp").exists()
    import torch as reference
    from torch.distributed import checkpoint as theirs

    state = {"x": reference.zeros(3), "number": 0.0}
    theirs.load(state, checkpoint_id=tmp_path, no_dist=True)
    assert state["number"] == 2.0
    assert state["x"].tolist() == [2.0, 2.0, 2.0]
