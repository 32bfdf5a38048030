"""Checkpoints of folders as files of `torch.save`, and back."""

from __future__ import annotations

import os
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint.default_planner import _EmptyStateDictLoadPlanner
from mindtorch_v2.distributed.checkpoint.filesystem import FileSystemReader
from mindtorch_v2.distributed.checkpoint.state_dict_loader import _load_state_dict
from mindtorch_v2.distributed.checkpoint.state_dict_saver import save

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike, torch_save_path: str | os.PathLike) -> None:
    """Write what a folder's checkpoint holds, whole, into one file of `torch.save`; it has to fit into memory.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> from mindtorch_v2.distributed.checkpoint.format_utils import dcp_to_torch_save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = dcp.save({"weight": torch.tensor([1.0, 2.0])}, checkpoint_id=f"{folder}/dcp")
    ...     dcp_to_torch_save(f"{folder}/dcp", f"{folder}/one.pt")
    ...     torch.load(f"{folder}/one.pt")
    {'weight': tensor([1., 2.])}
    """
    values: dict[str, Any] = {}
    reader = FileSystemReader(dcp_checkpoint_dir)
    _load_state_dict(values, reader, no_dist=True, planner=_EmptyStateDictLoadPlanner())
    torch.save(values, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike, dcp_checkpoint_dir: str | os.PathLike) -> None:
    """Write what a file of `torch.save` holds as a folder's checkpoint.

    >>> import tempfile
    >>> import mindtorch_v2.distributed.checkpoint as dcp
    >>> from mindtorch_v2.distributed.checkpoint.format_utils import torch_save_to_dcp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"weight": torch.tensor([1.0, 2.0])}, f"{folder}/one.pt")
    ...     torch_save_to_dcp(f"{folder}/one.pt", f"{folder}/dcp")
    ...     list(dcp.FileSystemReader(f"{folder}/dcp").read_metadata().state_dict_metadata)
    ['weight']
    """
    save(torch.load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)
