"""Checkpoints of folders as libraries read them without knowing what is in them."""

from pathlib import Path
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import checkpoint
from mindtorch_v2.distributed.checkpoint import format_utils


def test_a_folder_is_read_into_an_empty_dictionary(tmp_path: Path) -> None:
    """As accelerate merges the pieces of a sharded model."""
    saved = {"model": {"weight": torch.arange(6.0).view(2, 3), "step": 3}}
    checkpoint.save(saved, checkpoint_id=tmp_path, no_dist=True)
    found: dict[str, Any] = {}
    format_utils._load_state_dict(
        found,
        storage_reader=checkpoint.FileSystemReader(tmp_path),
        planner=format_utils._EmptyStateDictLoadPlanner(),
        no_dist=True,
    )
    assert found["model"]["weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert found["model"]["step"] == 3
