"""Checkpoints that a kill or a full disk cannot spoil: written aside, flushed to the disk, then renamed."""

import os
from pathlib import Path
from typing import Any

import torch


def save(state: dict[str, Any], path: Path) -> None:
    """Replace `path` by `state` in one step: at every moment `path` is either the old file or the new one, whole."""
    aside = path.with_name(path.name + ".part")
    try:
        with open(aside, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)  # still there only if writing failed


def load(path: Path) -> dict[str, Any]:
    """The state that `save` wrote. Only tensors and plain values are read: a checkpoint can carry no code."""
    return torch.load(path, map_location="cpu", weights_only=True)
