"""Checkpoints of folders as files of `torch.save`, and back."""

from __future__ import annotations

import os
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint._ranks import Ranks
from mindtorch_v2.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from mindtorch_v2.distributed.checkpoint.filesystem import FileSystemReader
from mindtorch_v2.distributed.checkpoint.state_dict_loader import _load
from mindtorch_v2.distributed.checkpoint.state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike) -> None:
    """Write what a folder's checkpoint holds, whole, into one file of `torch.save`; it has to fit into memory."""
    values: dict[str, Any] = {}
    _load(values, FileSystemReader(dcp_checkpoint_dir), _EmptyStateDictLoadPlanner(), Ranks(None, True))
    torch.save(values, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike) -> None:
    """Write what a file of `torch.save` holds as a folder's checkpoint."""
    save(torch.load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
